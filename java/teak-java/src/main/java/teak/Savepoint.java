package teak;

import teak.internal.Calls;
import teak.internal.Scratch;

/** A point in a write transaction to which it can return. */
public final class Savepoint {
    private final TxnCore core;
    private final long number;

    Savepoint(TxnCore core, long number) {
        this.core = core;
        this.number = number;
    }

    private interface Action {
        int call(long txn, long savepoint, long error);
    }

    private void run(Action action) {
        Scratch scratch = core.take();
        try {
            Codes.check(action.call(core.handle(), number, scratch.error()), scratch);
        } finally {
            core.give(scratch);
        }
    }

    /** Undoes all changes since the savepoint, which stays. Later savepoints end. */
    public void rollBack() {
        core.noteChange();
        run((txn, savepoint, error) -> Calls.CALLS.rollBackTo(txn, savepoint, error));
    }

    /** Ends the savepoint and all later ones. The changes stay. */
    public void release() {
        run((txn, savepoint, error) -> Calls.CALLS.release(txn, savepoint, error));
    }
}
