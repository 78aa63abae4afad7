package teak.internal;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/** An object whose calls use scratch memory, mostly the same one again. */
public abstract class ScratchOwner {
    private static final VarHandle SCRATCH;

    static {
        try {
            SCRATCH = MethodHandles.lookup()
                    .findVarHandle(ScratchOwner.class, "scratch", Scratch.class);
        } catch (ReflectiveOperationException impossible) {
            throw new ExceptionInInitializerError(impossible);
        }
    }

    /** Null while a call uses it, and before the first call. */
    @SuppressWarnings("unused")
    private Scratch scratch;

    /** For subclasses. */
    protected ScratchOwner() {}

    /** Scratch memory that no other call uses. */
    public final Scratch take() {
        Scratch own = (Scratch) SCRATCH.getAndSet(this, (Scratch) null);
        return own != null ? own : Scratch.take();
    }

    /** Keeps the memory for the next call, unless there is some already. */
    public final void give(Scratch used) {
        used.shrink();
        if (SCRATCH.getOpaque(this) == null) {
            // If another thread does the same now, one memory is left to the garbage collector. An
            // exchange would cost more than that, in each call.
            SCRATCH.setRelease(this, used);
        } else {
            used.release();
        }
    }

    /** Gives the memory to others. */
    protected final void releaseScratch() {
        Scratch own = (Scratch) SCRATCH.getAndSet(this, (Scratch) null);
        if (own != null) {
            own.release();
        }
    }
}
