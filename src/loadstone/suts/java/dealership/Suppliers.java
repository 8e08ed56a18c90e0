import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The suppliers: orders reach them as XML over HTTP, and each is delivered half a second later by a request of its own. */
final class Suppliers implements AutoCloseable {
    static final String ORDERS = "/supplier/orders";
    static final String DELIVERIES = "/works/deliveries";
    private static final long DELIVERY_MS = 500;
    private static final int TRIES = 5;
    private static final Duration TIMEOUT = Duration.ofSeconds(20);

    private final String self;
    private final HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private final ScheduledExecutorService deliveries = Executors.newScheduledThreadPool(2);

    /** The company and its suppliers answer at one address. */
    Suppliers(String self) {
        this.self = self;
    }

    @Override
    public void close() {
        deliveries.shutdownNow();
    }

    /** Raises IOException where the supplier does not accept the order. */
    void order(Works.PartsOrder order) throws IOException, InterruptedException {
        post(ORDERS, "<order id=\"" + order.id() + "\"><supplier>" + order.supplier() + "</supplier><part>" + order.part()
            + "</part><quantity>" + order.quantity() + "</quantity></order>");
    }

    void deliverLater(String id) {
        deliverLater(id, 1);
    }

    private void deliverLater(String id, int number) {
        deliveries.schedule(() -> deliver(id, number), DELIVERY_MS, TimeUnit.MILLISECONDS);
    }

    private void deliver(String id, int number) {
        try {
            post(DELIVERIES, "<delivery order=\"" + id + "\"/>");
        } catch (IOException error) {
            System.err.println("delivery of " + id + ": " + error);
            if (number < TRIES) {
                deliverLater(id, number + 1);
            }
        } catch (InterruptedException stopped) {
            Thread.currentThread().interrupt();
        }
    }

    private void post(String path, String document) throws IOException, InterruptedException {
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://" + self + path)).timeout(TIMEOUT)
            .header("content-type", "application/xml").POST(HttpRequest.BodyPublishers.ofString(document)).build();
        int status = client.send(request, HttpResponse.BodyHandlers.discarding()).statusCode();
        if (status < 200 || status > 299) {
            throw new IOException(path + " answers " + status);
        }
    }

    /** The value of an attribute of a document's first element. */
    static Optional<String> attribute(String document, String name) {
        Matcher match = Pattern.compile(" " + name + "=\"([^\"]*)\"").matcher(document);
        return match.find() ? Optional.of(match.group(1)) : Optional.empty();
    }
}
