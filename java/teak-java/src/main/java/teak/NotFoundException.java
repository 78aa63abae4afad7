package teak;

/** There is no such file, table or snapshot. */
public final class NotFoundException extends TeakException {
    private static final long serialVersionUID = 1;

    NotFoundException(int code, String message) {
        super(code, message);
    }
}
