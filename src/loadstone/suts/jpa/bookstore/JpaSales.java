import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;
import javax.persistence.EntityManager;
import javax.persistence.LockModeType;
import javax.persistence.PersistenceContext;
import javax.persistence.PersistenceException;

/** Sales by entities of JPA. Transactions lock stock in the order of items, then the account, so none waits for another in a circle. */
public class JpaSales implements Sales {
    private static final long MOST_COPIES = 10;
    private static final int MOST_LINES = 100;
    private static final int RELATED = 5;
    private static final String NEW_PASSWORD = "books";

    @PersistenceContext
    private EntityManager entities;

    @Override
    public List<CartLine> addToCart(String cart, long item, long copies) {
        if (entities.find(Cart.class, cart) == null) {
            entities.persist(new Cart(cart));
        }
        List<CartLine> lines = listLines(cart);
        long quantity = Math.max(1, Math.min(MOST_COPIES, copies));
        Optional<CartLine> known = lines.stream().filter(line -> line.getItem().getId() == item).findFirst();
        Item added = known.isPresent() ? null : entities.find(Item.class, item);
        if (lines.size() >= MOST_LINES || known.isEmpty() && added == null) {
            return lines;
        }
        known.ifPresent(line -> line.setQuantity(quantity));
        if (added != null) {
            entities.persist(new CartLine(cart, added, quantity));
        }
        return listLines(cart);
    }

    @Override
    public Quote quoteNewCustomer(String cart, long customer, String name) {
        entities.persist(new Customer(customer, name, NEW_PASSWORD));
        entities.persist(new Address(customer, "1 New Street", "Marsh", "00001"));
        entities.persist(new Account(customer));
        return quote(cart, customer);
    }

    @Override
    public Optional<Quote> quoteCustomer(String cart, String name, String password) {
        return entities
            .createQuery("SELECT c FROM Customer c WHERE c.name = :name AND c.password = :password", Customer.class)
            .setParameter("name", name)
            .setParameter("password", password)
            .getResultList()
            .stream()
            .findFirst()
            .map(customer -> quote(cart, customer.getId()));
    }

    private Quote quote(String id, long customer) {
        Cart cart = entities.find(Cart.class, id);
        if (cart != null) {
            cart.setCustomerId(customer);
        }
        Address address = entities.find(Address.class, customer);
        return new Quote(customer, address == null ? "" : address.toString(), listLines(id));
    }

    @Override
    public Optional<Long> placeOrder(String id, String order, long placed) {
        Cart cart = entities.find(Cart.class, id);
        List<CartLine> lines = listLines(id);
        if (cart == null || cart.getCustomerId() == 0 || lines.isEmpty()) {
            return Optional.empty();
        }
        long customer = cart.getCustomerId();
        Map<Long, Stock> stock = lockStock(lines);
        Purchase purchase = new Purchase(order, entities.getReference(Customer.class, customer), placed);
        for (CartLine line : lines) {
            purchase.add(line.getItem(), line.getQuantity());
            stock.get(line.getItem().getId()).sell(line.getQuantity());
            entities.remove(line);
        }
        entities.persist(purchase);
        entities.persist(new Payment(order, "4000", purchase.getTotal()));
        entities.find(Account.class, customer, LockModeType.PESSIMISTIC_WRITE).spend(purchase.getTotal());
        return Optional.of(purchase.getTotal());
    }

    private Map<Long, Stock> lockStock(List<CartLine> lines) {
        return entities
            .createQuery("SELECT s FROM Stock s WHERE s.itemId IN :items ORDER BY s.itemId", Stock.class)
            .setParameter("items", lines.stream().map(line -> line.getItem().getId()).collect(Collectors.toList()))
            .setLockMode(LockModeType.PESSIMISTIC_WRITE)
            .getResultList()
            .stream()
            .collect(Collectors.toMap(Stock::getItemId, Function.identity()));
    }

    private List<CartLine> listLines(String cart) {
        return entities
            .createQuery("SELECT l FROM CartLine l JOIN FETCH l.item i WHERE l.cartId = :cart ORDER BY i.id", CartLine.class)
            .setParameter("cart", cart)
            .getResultList();
    }

    @Override
    public Optional<List<Object[]>> changePrice(long id, long cents) {
        Item item = entities.find(Item.class, id);
        if (item == null) {
            return Optional.empty();
        }
        String query = "SELECT oi.id, SUM(o.quantity) AS sold FROM PurchaseLine l JOIN l.purchase h, Purchase t JOIN t.lines o JOIN o.item oi "
            + "WHERE t.customer = h.customer AND l.item = :item AND oi.id <> :id GROUP BY oi.id ORDER BY sold DESC, oi.id";
        List<Object[]> together = entities
            .createQuery(query, Object[].class)
            .setParameter("item", item)
            .setParameter("id", id)
            .setMaxResults(RELATED)
            .getResultList();
        item.setPrice(cents);
        together.stream().findFirst().ifPresent(row -> item.setRelated((Long) row[0]));
        return Optional.of(together);
    }

    @Override
    public String audit() {
        try {
            return Audit.audit(entities.unwrap(Connection.class));
        } catch (SQLException error) {
            throw new PersistenceException(error);
        }
    }
}
