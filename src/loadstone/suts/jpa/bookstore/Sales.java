import java.util.List;
import java.util.Optional;
import org.springframework.transaction.annotation.Transactional;

/** What visitors change: carts, customers, orders, prices. */
@Transactional
public interface Sales {
    /** Puts copies of an item into a cart, and returns its lines. */
    List<CartLine> addToCart(String cart, long item, long copies);

    /** Customer, address and lines of a cart. */
    record Quote(long customer, String address, List<CartLine> lines) {
    }

    /** Makes a new customer the buyer of a cart. */
    Quote quoteNewCustomer(String cart, long customer, String name);

    /** Makes a known customer the buyer of a cart; empty for a wrong password. */
    Optional<Quote> quoteCustomer(String cart, String name, String password);

    /** Total of the placed order in cents; empty for a cart without items or customer. */
    Optional<Long> placeOrder(String cart, String order, long placed);

    /** Changes price and promotion of an item. Returns items bought with it and their copies; empty for no such item. */
    Optional<List<Object[]>> changePrice(long item, long cents);

    /** State of all orders as JSON. */
    String audit();
}
