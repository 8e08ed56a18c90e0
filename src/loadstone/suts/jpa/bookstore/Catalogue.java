import java.util.List;
import java.util.Optional;
import org.springframework.transaction.annotation.Transactional;

/** What visitors look at. */
@Transactional(readOnly = true)
public interface Catalogue {
    Optional<String> findCustomerName(long customer);

    /** Books promoted beside an item. */
    List<Item> listPromoted(long item);

    List<Item> listNewest(String subject);

    /** Rows of item, title, author and copies sold. */
    List<Object[]> listBestSellers(String subject);

    Optional<Stock> findStock(long item);

    List<Item> search(SearchField field, String words);

    /** A customer's last order; empty for a wrong password. */
    Optional<Purchase> findLastOrder(String name, String password);

    /** Lines of an order with their items. */
    List<PurchaseLine> listLines(Purchase purchase);
}
