package teak.internal;

import java.nio.ByteBuffer;

/** Values in the mapped file, which are not copied. Only with the foreign function interface. */
public interface Views {
    /** The way of this machine's Java; null if there is none. */
    Views VIEWS = choose();

    /** How long values may be read. */
    interface Scope {
        /** Ends it. Later accesses throw an {@link IllegalStateException}. */
        void close();

        /** Bytes that may be read until the end of the scope. */
        ByteBuffer view(long address, long length);
    }

    /** A new scope. */
    Scope scope();

    private static Views choose() {
        if (!Calls.CALLS.mode().equals("FFM")) {
            return null;
        }
        try {
            return (Views) Class.forName("teak.internal.FfmViews")
                    .getDeclaredConstructor()
                    .newInstance();
        } catch (ReflectiveOperationException failure) {
            throw new LinkageError("the jar of Teak is incomplete", failure);
        }
    }
}
