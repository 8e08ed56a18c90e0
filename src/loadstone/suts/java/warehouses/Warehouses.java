import java.util.Arrays;

/**
 * A thread for each warehouse performs operations without pauses. After an uncounted round, a line each second has the
 * number of operations since the first of those lines; then come their times.
 */
final class Warehouses {
    /** Seconds that the counted round lasts beyond its length, since it is counted from its first line. */
    private static final int EDGE_S = 2;
    private static final int PARTS = 32;
    private static final int BUCKETS = 40 * PARTS;

    private static final class Worker extends Thread {
        final long[] counts = new long[BUCKETS];
        long totalNs;
        private final Warehouse warehouse;

        Worker(int number) {
            warehouse = new Warehouse(number);
            setDaemon(true);
        }

        @Override
        public void run() {
            long beginNs = System.nanoTime();
            while (warehouse.logged() >= 0) {
                warehouse.perform();
                long endNs = System.nanoTime();
                synchronized (this) {
                    counts[bucket(endNs - beginNs)]++;
                    totalNs += endNs - beginNs;
                }
                beginNs = endNs;
            }
        }
    }

    private static int bucket(long timeNs) {
        long value = Math.max(PARTS, timeNs);
        int exponent = 63 - Long.numberOfLeadingZeros(value) - 5;
        return Math.min(BUCKETS - 1, exponent * PARTS + (int) (value >> exponent) - PARTS);
    }

    /** The largest time of a bucket, in nanoseconds. */
    private static long timeNs(int bucket) {
        return ((long) (bucket % PARTS + PARTS + 1) << (bucket / PARTS)) - 1;
    }

    /** Counts of all workers by bucket, and the sum of their times at the end. */
    private static long[] snapshot(Worker[] workers) {
        long[] all = new long[BUCKETS + 1];
        for (Worker worker : workers) {
            synchronized (worker) {
                for (int bucket = 0; bucket < BUCKETS; bucket++) {
                    all[bucket] += worker.counts[bucket];
                }
                all[BUCKETS] += worker.totalNs;
            }
        }
        return all;
    }

    private static long count(long[] snapshot) {
        return Arrays.stream(snapshot, 0, BUCKETS).sum();
    }

    public static void main(String[] arguments) throws InterruptedException {
        Worker[] workers = new Worker[Integer.parseInt(arguments[0])];
        for (int number = 0; number < workers.length; number++) {
            workers[number] = new Worker(number);
            workers[number].start();
        }
        Thread.sleep(1000L * Integer.parseInt(arguments[1]));
        long[] first = snapshot(workers);
        long[] last = first;
        long beginNs = System.nanoTime();
        System.out.println("count 0");
        for (int second = 1; second < Integer.parseInt(arguments[2]) + EDGE_S; second++) {
            Thread.sleep(Math.max(1, 1000L * second - (System.nanoTime() - beginNs) / 1_000_000));
            last = snapshot(workers);
            System.out.println("count " + (count(last) - count(first)));
        }
        System.out.println("total " + (last[BUCKETS] - first[BUCKETS]));
        for (int bucket = 0; bucket < BUCKETS; bucket++) {
            if (last[bucket] > first[bucket]) {
                System.out.println("time " + timeNs(bucket) + " " + (last[bucket] - first[bucket]));
            }
        }
    }
}
