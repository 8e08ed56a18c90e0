import jakarta.servlet.http.Cookie;
import jakarta.servlet.http.HttpServletResponse;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import org.springframework.stereotype.Controller;
import org.springframework.ui.Model;
import org.springframework.web.bind.annotation.CookieValue;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.ResponseBody;

/** The bookstore's pages: each asks a service, and names the view of the answer. */
@Controller
public class BookstoreController {
    private static final String CART = "cart";
    private static final Set<String> SUBJECTS = Set.of(
        "arts", "biography", "business", "children", "computers", "cooking", "crime", "drama", "gardens", "health",
        "history", "home", "humor", "law", "letters", "music", "nature", "parenting", "poetry", "religion", "romance",
        "science", "sports", "travel");
    /** Item whose promotions are shown on pages without an item. */
    private static final String SHOWN = "1";

    private final Catalogue catalogue;
    private final Sales sales;

    public BookstoreController(Catalogue catalogue, Sales sales) {
        this.catalogue = catalogue;
        this.sales = sales;
    }

    @GetMapping("/books/home")
    public String home(
        @RequestParam(name = "customer", defaultValue = "0") long customer,
        @RequestParam(name = "item", defaultValue = SHOWN) long item,
        Model model) {
        String outcome = catalogue.findCustomerName(customer).map(name -> "Welcome back, " + name).orElse("Welcome");
        return show(model, "home", outcome, catalogue.listPromoted(item), "promoted");
    }

    @GetMapping("/books/new")
    public String newest(@RequestParam(name = "subject", defaultValue = "") String subject, Model model) throws Site.Refused {
        List<Item> items = catalogue.listNewest(check(subject));
        return show(model, "new_products", "New books on " + subject + ": " + items.size(), items, "items");
    }

    @GetMapping("/books/best")
    public String best(@RequestParam(name = "subject", defaultValue = "") String subject, Model model) throws Site.Refused {
        List<Object[]> rows = catalogue.listBestSellers(check(subject));
        return show(model, "best_sellers", "Best sellers on " + subject + ": " + rows.size(), rows, "rows");
    }

    @GetMapping("/books/item")
    public String item(@RequestParam("id") long id, Model model) throws Site.Refused {
        return show(model, "product_detail", "Book " + id, List.of(findStock(id)), "stock");
    }

    @GetMapping("/books/admin")
    public String edit(@RequestParam("id") long id, Model model) throws Site.Refused {
        return show(model, "admin_request", "Change book " + id, List.of(findStock(id)), "stock");
    }

    @GetMapping("/books/search")
    public String search(Model model) {
        List<Item> promoted = catalogue.listPromoted(Long.parseLong(SHOWN));
        return show(model, "search_request", "Search by author, title or subject", promoted, "promoted");
    }

    @GetMapping("/books/results")
    public String results(
        @RequestParam(name = "by", defaultValue = "") String by,
        @RequestParam(name = "words", defaultValue = "") String words,
        Model model) throws Site.Refused {
        List<Item> items = catalogue.search(readField(by), words);
        return show(model, "search_results", "Books by " + by + " " + words + ": " + items.size(), items, "items");
    }

    @GetMapping("/books/register")
    public String register(Model model) {
        List<Item> promoted = catalogue.listPromoted(Long.parseLong(SHOWN));
        return show(model, "customer_registration", "Who are you?", promoted, "promoted");
    }

    @GetMapping("/books/orders")
    public String orders(Model model) {
        return show(model, "order_inquiry", "Your name and password, please", List.of(), "rows");
    }

    @PostMapping("/books/cart")
    public String cart(
        @CookieValue(name = CART, defaultValue = "") String known,
        @RequestParam("item") long item,
        @RequestParam("quantity") long quantity,
        HttpServletResponse response,
        Model model) {
        String cart = known.isEmpty() ? String.format("%016x", ThreadLocalRandom.current().nextLong()) : known;
        List<CartLine> lines = Conflicts.retry(() -> sales.addToCart(cart, item, quantity));
        if (known.isEmpty()) {
            Cookie cookie = new Cookie(CART, cart);
            cookie.setPath("/");
            response.addCookie(cookie);
        }
        long total = lines.stream().mapToLong(line -> line.getQuantity() * line.getItem().getPrice()).sum();
        return show(model, "shopping_cart", "In your cart: " + total + " cents", lines, "cart");
    }

    @PostMapping("/books/buy")
    public String buy(
        @CookieValue(name = CART, defaultValue = "") String cart,
        @RequestParam(name = "new", defaultValue = "") String isNew,
        @RequestParam(name = "name", defaultValue = "") String name,
        @RequestParam(name = "password", defaultValue = "") String password,
        Model model) throws Site.Refused {
        // Beyond all ids that a database is filled with.
        long id = 1L << 40 | ThreadLocalRandom.current().nextLong() >>> 8;
        Optional<Sales.Quote> quote = isNew.equals("yes")
            ? Optional.of(Conflicts.retry(() -> sales.quoteNewCustomer(cart, id, name)))
            : Conflicts.retry(() -> sales.quoteCustomer(cart, name, password));
        Sales.Quote found = quote.orElseThrow(() -> new Site.Refused(403));
        String outcome = "To be sent to " + found.address() + ", customer " + found.customer();
        return show(model, "buy_request", outcome, found.lines(), "cart");
    }

    @PostMapping("/books/confirm")
    public String confirm(
        @CookieValue(name = CART, defaultValue = "") String cart,
        @RequestParam(name = "id", defaultValue = "") String order,
        Model model) throws Site.Refused {
        if (order.isEmpty()) {
            throw new Site.Refused(400);
        }
        long placed = System.currentTimeMillis() * 1000 + System.nanoTime() / 1000 % 1000;
        Optional<Long> total = Conflicts.retry(() -> sales.placeOrder(cart, order, placed));
        String outcome = total.map(cents -> "Order placed: " + cents + " cents").orElse("There is nothing to buy");
        return show(model, "buy_confirm", outcome, List.of(), "rows");
    }

    @PostMapping("/books/order")
    public String order(
        @RequestParam(name = "name", defaultValue = "") String name,
        @RequestParam(name = "password", defaultValue = "") String password,
        Model model) {
        Optional<Purchase> last = catalogue.findLastOrder(name, password);
        String outcome = last
            .map(order -> "Your last order: " + order.getId() + ", " + order.getTotal() + " cents")
            .orElse("You have no order");
        return show(model, "order_display", outcome, last.map(catalogue::listLines).orElse(List.of()), "order");
    }

    @PostMapping("/books/admin")
    public String change(@RequestParam("id") long id, @RequestParam("price") long price, Model model) throws Site.Refused {
        List<Object[]> together = Conflicts.retry(() -> sales.changePrice(id, price))
            .orElseThrow(() -> new Site.Refused(404));
        return show(model, "admin_confirm", "Book " + id + " costs " + price + " cents", together, "rows");
    }

    @GetMapping(path = "/audit", produces = "application/json")
    @ResponseBody
    public String audit() {
        return sales.audit();
    }

    private static String show(Model model, String operation, String outcome, List<?> rows, String view) {
        model.addAttribute("title", "Bookstore: " + operation.replace('_', ' '));
        model.addAttribute("operation", operation);
        model.addAttribute("outcome", outcome);
        model.addAttribute("rows", rows);
        return view;
    }

    private Stock findStock(long item) throws Site.Refused {
        return catalogue.findStock(item).orElseThrow(() -> new Site.Refused(404));
    }

    private static String check(String subject) throws Site.Refused {
        if (!SUBJECTS.contains(subject)) {
            throw new Site.Refused(400);
        }
        return subject;
    }

    private static SearchField readField(String by) throws Site.Refused {
        try {
            return SearchField.valueOf(by.toUpperCase(Locale.ROOT));
        } catch (IllegalArgumentException unknown) {
            throw new Site.Refused(400);
        }
    }
}
