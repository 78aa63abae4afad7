package teak;

/** An error interrupted a change: the transaction can only be rolled back. */
public final class TransactionException extends TeakException {
    private static final long serialVersionUID = 1;

    TransactionException(int code, String message) {
        super(code, message);
    }
}
