import java.util.concurrent.ThreadLocalRandom;

/** Numbers and dates of what visitors add. */
final class Additions {
    /** Ids of additions begin here, beyond all that a database is filled with. */
    static final long FIRST_ID = 1L << 40;
    /** Moment that the data is of, in minutes. */
    static final long NOW = 30_000_000;

    private Additions() {
    }

    /** Returns an id that no other server of this site gives. */
    static long newId() {
        return FIRST_ID | ThreadLocalRandom.current().nextLong(1L << 60);
    }

    /** Returns when an added event is held, in minutes. */
    static long chooseDate(long id) {
        return NOW + 1440 + (id >> 8) % 700_000;
    }
}
