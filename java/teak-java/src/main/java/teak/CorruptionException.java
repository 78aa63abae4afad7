package teak;

/** The content of the file differs from what was written. */
public final class CorruptionException extends TeakException {
    private static final long serialVersionUID = 1;

    /** The damaged page, or -1. */
    private final long page;

    CorruptionException(int code, String message, long page) {
        super(code, message);
        this.page = page;
    }

    /**
     * The damaged page.
     *
     * @return its number, or -1 if it is not known
     */
    public long page() {
        return page;
    }
}
