import java.sql.SQLException;
import java.util.Optional;
import java.util.function.Supplier;

/** Transactions that another one was in the way of. */
final class Conflicts {
    private Conflicts() {
    }

    /** Performs a transaction, and again after a deadlock or a conflict, as often as the servlets do. */
    static <T> T retry(Supplier<T> transaction) {
        for (int tries = 1;; tries++) {
            try {
                return transaction.get();
            } catch (RuntimeException error) {
                if (tries == Database.TRIES || findCause(error).filter(Database::isConflict).isEmpty()) {
                    throw error;
                }
            }
        }
    }

    /** Whether a row with the same key existed. */
    static boolean isDuplicate(Throwable error) {
        return findCause(error).filter(Database::isDuplicate).isPresent();
    }

    private static Optional<SQLException> findCause(Throwable error) {
        for (Throwable cause = error; cause != null; cause = cause.getCause()) {
            if (cause instanceof SQLException found) {
                return Optional.of(found);
            }
        }
        return Optional.empty();
    }
}
