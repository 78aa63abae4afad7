package teak.internal;

/** Chooses how the library is called. */
final class CallsChoice {
    private CallsChoice() {}

    /**
     * The foreign function interface where Java has it, and JNI otherwise or with
     * {@code -Dteak.calls=jni}.
     */
    static Calls choose() {
        String wanted = System.getProperty("teak.calls", "").toLowerCase(java.util.Locale.ROOT);
        if (Runtime.version().feature() < 22 || wanted.equals("jni")) {
            return new JniCalls();
        }
        try {
            // In META-INF/versions/22, which older versions of Java do not read.
            return (Calls) Class.forName("teak.internal.FfmCalls")
                    .getDeclaredConstructor()
                    .newInstance();
        } catch (ClassNotFoundException absent) {
            return new JniCalls();
        } catch (ReflectiveOperationException failure) {
            throw new LinkageError("cannot call the native library of Teak", failure);
        }
    }
}
