package teak;

/** A write or flush failed earlier: nothing is written until the database is opened again. */
public final class PoisonedException extends TeakException {
    private static final long serialVersionUID = 1;

    PoisonedException(int code, String message) {
        super(code, message);
    }
}
