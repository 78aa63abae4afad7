package teak;

/** When a commit is on the disk. */
public enum Durability {
    /** Before the commit returns. */
    DURABLE(1),
    /** Soon after the commit returns. A {@link Ticket} says when. */
    ASYNC(2),
    /** When the system, a later durable commit or a limit causes a flush. */
    LAZY(3);

    final int number;

    Durability(int number) {
        this.number = number;
    }
}
