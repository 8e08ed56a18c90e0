import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.TreeMap;

/** A warehouse with its districts, customers, stock and orders, all of it in memory and of one thread. */
final class Warehouse {
    private static final int DISTRICTS = 10;
    private static final int CUSTOMERS = 600;
    private static final int ITEMS = 20_000;
    private static final int LINES = 10;
    private static final int RESTOCKED = 91;
    private static final int KEPT_ORDERS = 3_000;

    private record Line(int item, int quantity, long cents) {}

    private record Order(int number, int customer, List<Line> lines) {
        long cents() {
            return lines.stream().mapToLong(Line::cents).sum();
        }
    }

    private static final class Customer {
        final String name;
        long balanceCents;
        int payments;
        final ArrayDeque<Order> orders = new ArrayDeque<>();

        Customer(String name) {
            this.name = name;
        }
    }

    private static final class District {
        int nextOrder = 1;
        long cents;
        final Customer[] customers = new Customer[CUSTOMERS];
        final TreeMap<Integer, Order> open = new TreeMap<>();
        final ArrayDeque<Order> recent = new ArrayDeque<>();
    }

    private final Random random;
    private final int[] stock = new int[ITEMS];
    private final long[] priceCents = new long[ITEMS];
    private final District[] districts = new District[DISTRICTS];
    private long logged;

    Warehouse(int number) {
        random = new Random(number);
        for (int item = 0; item < ITEMS; item++) {
            stock[item] = 10 + random.nextInt(RESTOCKED);
            priceCents[item] = 100 + random.nextInt(9_900);
        }
        for (int place = 0; place < DISTRICTS; place++) {
            districts[place] = new District();
            for (int customer = 0; customer < CUSTOMERS; customer++) {
                districts[place].customers[customer] = new Customer("customer-" + place + "-" + customer);
            }
        }
    }

    /** Performs one operation: 30.3 % each of new orders, payments and reports, 3.03 % each of the other three. */
    void perform() {
        int draw = random.nextInt(33);
        if (draw < 10) {
            placeOrder();
        } else if (draw < 20) {
            pay();
        } else if (draw < 30) {
            reportCustomer();
        } else if (draw == 30) {
            showStatus();
        } else if (draw == 31) {
            deliver();
        } else {
            countLowStock();
        }
    }

    /** Length of all documents that were written, so that none of the work is unused. */
    long logged() {
        return logged;
    }

    private District district() {
        return districts[random.nextInt(DISTRICTS)];
    }

    private void placeOrder() {
        District district = district();
        int customer = random.nextInt(CUSTOMERS);
        List<Line> lines = new ArrayList<>(LINES);
        for (int line = 5 + random.nextInt(LINES); line > 0; line--) {
            int item = random.nextInt(ITEMS);
            int quantity = 1 + random.nextInt(10);
            stock[item] = stock[item] - quantity < 10 ? stock[item] - quantity + RESTOCKED : stock[item] - quantity;
            lines.add(new Line(item, quantity, quantity * priceCents[item]));
        }
        Order order = new Order(district.nextOrder++, customer, lines);
        district.open.put(order.number(), order);
        district.recent.addLast(order);
        if (district.recent.size() > KEPT_ORDERS) {
            Order dropped = district.recent.removeFirst();
            district.open.remove(dropped.number());
            district.customers[dropped.customer()].orders.remove(dropped);
        }
        district.customers[customer].orders.addLast(order);
        log(document("order", district.customers[customer], order));
    }

    private void pay() {
        District district = district();
        Customer customer = district.customers[random.nextInt(CUSTOMERS)];
        long cents = 100 + random.nextInt(500_000);
        customer.balanceCents -= cents;
        customer.payments++;
        district.cents += cents;
        log(new StringBuilder("<payment customer=\"").append(customer.name).append("\" cents=\"").append(cents)
                .append("\"/>"));
    }

    private void reportCustomer() {
        Customer customer = district().customers[random.nextInt(CUSTOMERS)];
        StringBuilder text = new StringBuilder("<report payments=\"").append(customer.payments).append("\">");
        customer.orders.forEach(order -> text.append(document("order", customer, order)));
        log(text.append("</report>"));
    }

    private void showStatus() {
        Customer customer = district().customers[random.nextInt(CUSTOMERS)];
        if (!customer.orders.isEmpty()) {
            log(document("status", customer, customer.orders.getLast()));
        }
    }

    private void deliver() {
        for (District district : districts) {
            if (!district.open.isEmpty()) {
                Order order = district.open.pollFirstEntry().getValue();
                district.customers[order.customer()].balanceCents += order.cents();
            }
        }
    }

    private void countLowStock() {
        int limit = 10 + random.nextInt(11);
        long low = district().recent.stream().skip(KEPT_ORDERS - 20).flatMap(order -> order.lines().stream())
                .mapToInt(Line::item).distinct().filter(item -> stock[item] < limit).count();
        log(new StringBuilder("<low items=\"").append(low).append("\"/>"));
    }

    private static StringBuilder document(String kind, Customer customer, Order order) {
        StringBuilder text = new StringBuilder("<").append(kind).append(" customer=\"").append(customer.name)
                .append("\" number=\"").append(order.number()).append("\">");
        for (Line line : order.lines()) {
            text.append("<line item=\"").append(line.item()).append("\" quantity=\"").append(line.quantity())
                    .append("\" cents=\"").append(line.cents()).append("\"/>");
        }
        return text.append("</").append(kind).append(">");
    }

    private void log(StringBuilder text) {
        logged += text.toString().length();
    }
}
