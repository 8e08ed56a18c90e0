import jakarta.servlet.http.Cookie;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.sql.SQLException;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;

/** The bookstore's pages: which there are, what each is asked with, what it tells. */
public final class Bookstore extends Site {
    private static final String CART = "cart";
    /** Promoted beside pages that are of no item. */
    private static final long SHOWN = 1;

    @Override
    protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
        answer(request, response, () -> switch (place(request)) {
            case "home" -> home(request);
            case "new" -> newest(request);
            case "best" -> best(request);
            case "item" -> item(request, "product_detail", "Book ");
            case "search" -> promoting("search_request", "Search by author, title or subject");
            case "results" -> results(request);
            case "register" -> promoting("customer_registration", "Who are you?");
            case "orders" -> new Told("order_inquiry", "Your name and password, please", List.of());
            case "admin" -> item(request, "admin_request", "Change book ");
            case "audit" -> audit(response);
            default -> throw new Refused(404);
        });
    }

    @Override
    protected void doPost(HttpServletRequest request, HttpServletResponse response) throws IOException {
        answer(request, response, () -> switch (place(request)) {
            case "cart" -> cart(request, response);
            case "buy" -> quote(request);
            case "confirm" -> confirm(request);
            case "order" -> order(request);
            case "admin" -> change(request);
            default -> throw new Refused(404);
        });
    }

    /** What a page tells: a line, and rows. */
    private record Told(String operation, String outcome, List<Object[]> rows) {
    }

    private interface Asked {
        Told tell() throws SQLException, IOException, Refused;
    }

    private void answer(HttpServletRequest request, HttpServletResponse response, Asked asked) throws IOException {
        super.answer(request, response, () -> {
            Told told = asked.tell();
            if (told != null) {
                Page page = new Page("Bookstore: " + told.operation.replace('_', ' '));
                page.put("<h1>" + Page.escape(told.outcome) + "</h1>\n");
                page.table(told.rows);
                page.finish(response, Facts.of(told.operation));
            }
        });
    }

    private Told home(HttpServletRequest request) throws SQLException {
        long customer = number(request, "customer").orElse(0L);
        long item = number(request, "item").orElse(SHOWN);
        return database.read(c -> {
            Optional<String> name = Browse.customer(c, customer);
            return new Told("home", name.map(n -> "Welcome back, " + n).orElse("Welcome"), Browse.promoted(c, item));
        });
    }

    private Told newest(HttpServletRequest request) throws SQLException, Refused {
        String subject = subject(request);
        List<Object[]> rows = database.read(c -> Browse.newest(c, subject));
        return new Told("new_products", "New books on " + subject + ": " + rows.size(), rows);
    }

    private Told best(HttpServletRequest request) throws SQLException, Refused {
        String subject = subject(request);
        List<Object[]> rows = database.read(c -> Browse.bestSellers(c, subject));
        return new Told("best_sellers", "Best sellers on " + subject + ": " + rows.size(), rows);
    }

    private Told item(HttpServletRequest request, String operation, String outcome) throws SQLException, Refused {
        long id = needed(request, "id");
        Object[] row = database.read(c -> Browse.item(c, id)).orElseThrow(() -> new Refused(404));
        return new Told(operation, outcome + id, List.<Object[]>of(row));
    }

    private Told promoting(String operation, String outcome) throws SQLException {
        return new Told(operation, outcome, database.read(c -> Browse.promoted(c, SHOWN)));
    }

    private Told results(HttpServletRequest request) throws SQLException, Refused {
        String by = text(request, "by");
        String words = text(request, "words");
        if (!Browse.WAYS.containsKey(by)) {
            throw new Refused(400);
        }
        List<Object[]> rows = database.read(c -> Browse.search(c, by, words));
        return new Told("search_results", "Books by " + by + " " + words + ": " + rows.size(), rows);
    }

    private Told cart(HttpServletRequest request, HttpServletResponse response) throws SQLException, Refused {
        long item = needed(request, "item");
        long quantity = needed(request, "quantity");
        String known = cookie(request, CART);
        String cart = known.isEmpty() ? String.format("%016x", ThreadLocalRandom.current().nextLong()) : known;
        List<Object[]> rows = database.write(c -> Buy.add(c, database.dialect, cart, item, quantity));
        if (known.isEmpty()) {
            Cookie cookie = new Cookie(CART, cart);
            cookie.setPath("/");
            response.addCookie(cookie);
        }
        long total = rows.stream().mapToLong(row -> (long) row[2] * (long) row[3]).sum();
        return new Told("shopping_cart", "In your cart: " + total + " cents", rows);
    }

    private Told quote(HttpServletRequest request) throws SQLException, Refused {
        boolean isNew = text(request, "new").equals("yes");
        // Beyond all that a database is filled with.
        long id = 1L << 40 | ThreadLocalRandom.current().nextLong() >>> 8;
        String name = text(request, "name");
        String password = text(request, "password");
        String cart = cookie(request, CART);
        Buy.Quote quote = database.write(c -> Buy.quote(c, cart, isNew ? Buy.enrol(c, id, name) : Buy.known(c, name, password)))
            .orElseThrow(() -> new Refused(403));
        String outcome = "To be sent to " + quote.address() + ", customer " + quote.customer();
        return new Told("buy_request", outcome, quote.lines());
    }

    private Told confirm(HttpServletRequest request) throws SQLException, Refused {
        String order = text(request, "id");
        if (order.isEmpty()) {
            throw new Refused(400);
        }
        String cart = cookie(request, CART);
        long placed = System.currentTimeMillis() * 1000 + System.nanoTime() / 1000 % 1000;
        Optional<Long> total = database.write(c -> Buy.buy(c, cart, order, placed));
        String outcome = total.map(t -> "Order placed: " + t + " cents").orElse("There is nothing to buy");
        return new Told("buy_confirm", outcome, List.of());
    }

    private Told order(HttpServletRequest request) throws SQLException {
        String name = text(request, "name");
        String password = text(request, "password");
        return database.read(c -> {
            Optional<Object[]> order = Browse.lastOrder(c, name, password);
            if (order.isEmpty()) {
                return new Told("order_display", "You have no order", List.of());
            }
            String outcome = "Your last order: " + order.get()[0] + ", " + order.get()[1] + " cents";
            return new Told("order_display", outcome, Browse.lines(c, (String) order.get()[0]));
        });
    }

    private Told change(HttpServletRequest request) throws SQLException, Refused {
        long id = needed(request, "id");
        long price = needed(request, "price");
        List<Object[]> rows = database.read(c -> Browse.boughtTogether(c, id));
        Long related = rows.isEmpty() ? null : (Long) rows.get(0)[0];
        if (!database.write(c -> Buy.change(c, id, price, related))) {
            throw new Refused(404);
        }
        return new Told("admin_confirm", "Book " + id + " costs " + price + " cents", rows);
    }

    private Told audit(HttpServletResponse response) throws SQLException, IOException {
        json(response, database.read(Audit::audit));
        return null;
    }

    private static String subject(HttpServletRequest request) throws Refused {
        String asked = text(request, "subject");
        if (!Browse.SUBJECTS.contains(asked)) {
            throw new Refused(400);
        }
        return asked;
    }
}
