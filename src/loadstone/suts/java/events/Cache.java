import java.net.InetSocketAddress;
import java.net.URI;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.stream.Stream;
import net.spy.memcached.MemcachedClient;
import net.spy.memcached.OperationTimeoutException;

/** Answers that are kept for a while, as in the reference server. What cannot be found or kept is made anew. */
interface Cache {
    /** How long an answer is good at most, in seconds. */
    int GOOD_FOR_S = 1_800;
    /** What is kept of the home page, and of each tag's by this and its name. */
    String HOME = "home";
    String TAG = "tag:";
    /** Between the two parts of the home page. */
    char BETWEEN = '\0';

    /** Returns the name that a tag's page is kept by; empty for a text that is no tag's name. */
    static Optional<String> nameOfTag(String tag) {
        return tag.matches("[A-Za-z0-9]{1,100}") ? Optional.of(TAG + tag) : Optional.empty();
    }

    /** Returns the names of all that an event with these tags is shown in. */
    static List<String> namesOfEvent(List<String> tags) {
        return Stream.concat(Stream.of(HOME), tags.stream().flatMap(tag -> nameOfTag(tag).stream())).toList();
    }

    /** What is kept by that name; null where nothing is. */
    String get(String name);

    void put(String name, String answer);

    /** What is kept by these names is no longer true. */
    void forget(List<String> names);

    /** Nothing that is kept is true any longer. */
    void empty();

    /** Ends what it has open. */
    default void close() {
    }

    /** In no place, within this program, or in a memcached. */
    static Cache at(String place) throws java.io.IOException {
        if (place == null) {
            return new Nowhere();
        }
        return place.equals("within") ? new Within() : new Memcached(URI.create(place));
    }

    /** Keeps nothing. */
    final class Nowhere implements Cache {
        @Override
        public String get(String name) {
            return null;
        }

        @Override
        public void put(String name, String answer) {
        }

        @Override
        public void forget(List<String> names) {
        }

        @Override
        public void empty() {
        }
    }

    /** Keeps a bounded number of answers in memory. */
    final class Within implements Cache {
        private static final int MOST = 10_000;

        private record Kept(String answer, long untilNs) {
        }

        private final Map<String, Kept> kept = new ConcurrentHashMap<>();

        @Override
        public String get(String name) {
            Kept found = kept.get(name);
            return found != null && found.untilNs - System.nanoTime() > 0 ? found.answer : null;
        }

        @Override
        public void put(String name, String answer) {
            if (kept.size() >= MOST) {
                kept.clear();
            }
            kept.put(name, new Kept(answer, System.nanoTime() + GOOD_FOR_S * 1_000_000_000L));
        }

        @Override
        public void forget(List<String> names) {
            names.forEach(kept::remove);
        }

        @Override
        public void empty() {
            kept.clear();
        }
    }

    /** Keeps answers where several servers find them. */
    final class Memcached implements Cache {
        private final MemcachedClient client;

        Memcached(URI place) throws java.io.IOException {
            client = new MemcachedClient(new InetSocketAddress(place.getHost(), place.getPort()));
        }

        @Override
        public String get(String name) {
            try {
                return (String) client.get(name);
            } catch (OperationTimeoutException late) {
                System.err.println("the cache: " + late.getMessage());
                return null;
            }
        }

        @Override
        public void put(String name, String answer) {
            client.set(name, GOOD_FOR_S, answer);
        }

        @Override
        public void forget(List<String> names) {
            names.stream().map(client::delete).toList().forEach(Memcached::await);
        }

        @Override
        public void empty() {
            if (!await(client.flush())) {
                throw new IllegalStateException("the cache still has what is no longer true");
            }
        }

        @Override
        public void close() {
            client.shutdown();
        }

        /** Whether it was done. */
        private static boolean await(java.util.concurrent.Future<Boolean> asked) {
            try {
                return Boolean.TRUE.equals(asked.get());
            } catch (ExecutionException failed) {
                System.err.println("the cache: " + failed.getMessage());
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
            }
            return false;
        }
    }
}
