import java.util.List;
import java.util.Optional;
import javax.persistence.EntityManager;
import javax.persistence.PersistenceContext;

/** The catalogue by queries of JPA. */
public class JpaCatalogue implements Catalogue {
    private static final int LISTED = 50;
    private static final int PROMOTED = 5;
    /** Orders that best sellers are computed from. */
    private static final int RECENT = 3_333;

    @PersistenceContext
    private EntityManager entities;

    @Override
    public Optional<String> findCustomerName(long customer) {
        return Optional.ofNullable(entities.find(Customer.class, customer)).map(Customer::getName);
    }

    @Override
    public List<Item> listPromoted(long item) {
        return entities
            .createQuery("SELECT p FROM Item i, Item p WHERE i.id = :item AND p.id >= i.related ORDER BY p.id", Item.class)
            .setParameter("item", item)
            .setMaxResults(PROMOTED)
            .getResultList();
    }

    @Override
    public List<Item> listNewest(String subject) {
        String query = "SELECT i FROM Item i JOIN FETCH i.author WHERE i.subject = :subject ORDER BY i.published DESC, i.title";
        return entities.createQuery(query, Item.class).setParameter("subject", subject).setMaxResults(LISTED).getResultList();
    }

    @Override
    public List<Object[]> listBestSellers(String subject) {
        long since = entities
            .createQuery("SELECT p.placed FROM Purchase p ORDER BY p.placed DESC", Long.class)
            .setFirstResult(RECENT - 1)
            .setMaxResults(1)
            .getResultList()
            .stream()
            .findFirst()
            .orElse(0L);
        String query = "SELECT i.id, i.title, a.name, SUM(l.quantity) AS sold FROM PurchaseLine l JOIN l.item i JOIN i.author a "
            + "WHERE l.placed >= :since AND i.subject = :subject GROUP BY i.id, i.title, a.name ORDER BY sold DESC, i.id";
        return entities
            .createQuery(query, Object[].class)
            .setParameter("since", since)
            .setParameter("subject", subject)
            .setMaxResults(LISTED)
            .getResultList();
    }

    @Override
    public Optional<Stock> findStock(long item) {
        return entities
            .createQuery("SELECT s FROM Stock s WHERE s.itemId = :item", Stock.class)
            .setParameter("item", item)
            .setHint("eclipselink.join-fetch", "s.item.author")
            .getResultList()
            .stream()
            .findFirst();
    }

    @Override
    public List<Item> search(SearchField field, String words) {
        String query = "SELECT i FROM Item i JOIN FETCH i.author a WHERE " + field.condition + " ORDER BY i.title";
        return entities
            .createQuery(query, Item.class)
            .setParameter("words", field.format(words))
            .setMaxResults(LISTED)
            .getResultList();
    }

    @Override
    public Optional<Purchase> findLastOrder(String name, String password) {
        String query = "SELECT p FROM Purchase p JOIN p.customer c WHERE c.name = :name AND c.password = :password ORDER BY p.placed DESC";
        return entities
            .createQuery(query, Purchase.class)
            .setParameter("name", name)
            .setParameter("password", password)
            .setMaxResults(1)
            .getResultList()
            .stream()
            .findFirst();
    }

    @Override
    public List<PurchaseLine> listLines(Purchase purchase) {
        String query = "SELECT l FROM PurchaseLine l JOIN FETCH l.item WHERE l.purchase = :purchase ORDER BY l.line";
        return entities.createQuery(query, PurchaseLine.class).setParameter("purchase", purchase).getResultList();
    }
}
