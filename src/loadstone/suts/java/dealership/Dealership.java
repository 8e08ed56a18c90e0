import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;

/** The dealership: dealers, production lines and suppliers reach it over HTTP. Its statements are the reference server's. */
public final class Dealership extends Site {
    private static final int PAGE_BYTES = 8 * 1024;
    private static final int MOST_LINES = 20;
    private static final long MOST_VEHICLES = 1_000;

    private Suppliers suppliers;

    @Override
    public void init() {
        super.init();
        suppliers = new Suppliers(System.getProperty("loadstone.self"));
    }

    @Override
    public void destroy() {
        suppliers.close();
        super.destroy();
    }

    @Override
    protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
        answer(request, response, () -> {
            switch (request.getRequestURI()) {
                case "/dealer/browse" -> browse(request, response);
                case "/audit" -> json(response, database.read(DealershipAudit::audit));
                default -> throw new Refused(404);
            }
        });
    }

    @Override
    protected void doPost(HttpServletRequest request, HttpServletResponse response) throws IOException {
        answer(request, response, () -> {
            switch (request.getRequestURI()) {
                case "/dealer/purchase" -> purchase(request, response);
                case "/dealer/manage" -> manage(request, response);
                case "/works/planned" -> build(request, response, false);
                case "/works/large" -> build(request, response, true);
                case Suppliers.ORDERS -> supply(request, response);
                case Suppliers.DELIVERIES -> receiveDelivery(request, response);
                default -> throw new Refused(404);
            }
        });
    }

    private void browse(HttpServletRequest request, HttpServletResponse response) throws Exception {
        long from = needed(request, "from");
        List<Object[]> rows = database.read(c -> Trade.browse(c, from));
        page(response, "Dealership: catalogue", rows.size() + " vehicles from " + from, rows);
    }

    private void purchase(HttpServletRequest request, HttpServletResponse response) throws Exception {
        long quantity = quantity(request);
        List<Long> vehicles = vehicles(text(request, "vehicles"));
        Trade.Purchase order = new Trade.Purchase(id(request), needed(request, "customer"), vehicles, quantity,
            text(request, "size").equals("large"), text(request, "then").equals("rollback"));
        page(response, "Dealership: purchase", database.write(c -> Trade.purchase(c, database.dialect, order)), List.of());
    }

    private void manage(HttpServletRequest request, HttpServletResponse response) throws Exception {
        long customer = needed(request, "customer");
        boolean cancels = text(request, "cancel").equals("yes");
        Trade.Managed managed = database.write(c -> Trade.manage(c, customer, cancels));
        page(response, "Dealership: stock", managed.outcome(), managed.stock());
    }

    private void build(HttpServletRequest request, HttpServletResponse response, boolean isLarge) throws Exception {
        String id = id(request);
        long vehicle = needed(request, "vehicle");
        long quantity = quantity(request);
        Works.Built built = isLarge ? Works.large(database, id, vehicle, quantity) : Works.planned(database, id, vehicle, quantity);
        for (Works.PartsOrder order : built.orders()) {
            suppliers.order(order);
        }
        page(response, "Dealership: works", "Work order done: " + built.outcome(), List.of());
    }

    /** A supplier accepts an order; its delivery is a later request. */
    private void supply(HttpServletRequest request, HttpServletResponse response) throws Exception {
        suppliers.deliverLater(attribute(request, "id"));
        response.setStatus(202);
        send(response, "text/plain", "taken in\n".getBytes(StandardCharsets.US_ASCII));
    }

    private void receiveDelivery(HttpServletRequest request, HttpServletResponse response) throws Exception {
        String order = attribute(request, "order");
        database.write(c -> Works.deliver(c, order));
        send(response, "text/plain", "taken in\n".getBytes(StandardCharsets.US_ASCII));
    }

    private static String id(HttpServletRequest request) throws Refused {
        String id = text(request, "id");
        if (id.isEmpty()) {
            throw new Refused(400);
        }
        return id;
    }

    private static long quantity(HttpServletRequest request) throws Refused {
        long quantity = needed(request, "quantity");
        if (quantity < 1 || quantity > MOST_VEHICLES) {
            throw new Refused(400);
        }
        return quantity;
    }

    private static List<Long> vehicles(String text) throws Refused {
        try {
            List<Long> vehicles = Arrays.stream(text.split(",")).map(String::trim).map(Long::valueOf).toList();
            if (vehicles.size() <= MOST_LINES) {
                return vehicles;
            }
        } catch (NumberFormatException wrong) {
            // refused below
        }
        throw new Refused(400);
    }

    private static String attribute(HttpServletRequest request, String name) throws IOException, Refused {
        String document = new String(request.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        return Suppliers.attribute(document, name).orElseThrow(() -> new Refused(400));
    }

    private static void page(HttpServletResponse response, String title, String outcome, List<Object[]> rows) throws IOException {
        Page page = new Page(title);
        page.put("<h1>" + Page.escape(title) + "</h1>\n<p>" + Page.escape(outcome) + "</p>\n");
        page.table(rows);
        page.finish(response, new Facts(PAGE_BYTES, List.of()));
    }
}
