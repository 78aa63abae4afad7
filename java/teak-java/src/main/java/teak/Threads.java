package teak;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.time.Duration;

/** Limits of waiting, and virtual threads, which Java 17 does not have. */
final class Threads {
    private static final MethodHandle IS_VIRTUAL = find();

    private Threads() {}

    private static MethodHandle find() {
        try {
            MethodType type = MethodType.methodType(boolean.class);
            return MethodHandles.publicLookup().findVirtual(Thread.class, "isVirtual", type);
        } catch (ReflectiveOperationException absent) {
            return null;
        }
    }

    /** Milliseconds, rounded up, from zero to the greatest number. */
    static long millis(Duration limit) {
        if (limit.isNegative()) {
            return 0;
        }
        try {
            return limit.plusNanos(999_999).toMillis();
        } catch (ArithmeticException tooLong) {
            return Long.MAX_VALUE;
        }
    }

    /** The number of the current thread. */
    @SuppressWarnings("deprecation")
    static long number() {
        return Thread.currentThread().getId();
    }

    static boolean isVirtual() {
        try {
            return IS_VIRTUAL != null && (boolean) IS_VIRTUAL.invokeExact(Thread.currentThread());
        } catch (Throwable impossible) {
            throw new AssertionError(impossible);
        }
    }
}
