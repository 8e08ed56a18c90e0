import javax.persistence.CascadeType;
import javax.persistence.Column;
import javax.persistence.Entity;
import javax.persistence.FetchType;
import javax.persistence.Id;
import javax.persistence.JoinColumn;
import javax.persistence.ManyToOne;
import javax.persistence.OneToMany;
import javax.persistence.Table;
import java.util.ArrayList;
import java.util.List;

/** Order of a customer. "Order" is a keyword of queries. */
@Entity
@Table(name = "orders")
public class Purchase {
    @Id
    private String id;
    @ManyToOne(fetch = FetchType.LAZY)
    @JoinColumn(name = "customer")
    private Customer customer;
    /** In microseconds since 1970. */
    private long placed;
    @Column(name = "line_count")
    private long lineCount;
    private long total;
    /** 1 for an order that a run placed, 0 for one that the database was filled with. */
    @Column(name = "is_new")
    private long isNew;
    @OneToMany(mappedBy = "purchase", cascade = CascadeType.PERSIST)
    private List<PurchaseLine> lines = new ArrayList<>();

    protected Purchase() {
    }

    Purchase(String id, Customer customer, long placed) {
        this.id = id;
        this.customer = customer;
        this.placed = placed;
        this.isNew = 1;
    }

    void add(Item item, long copies) {
        lineCount++;
        total += copies * item.getPrice();
        lines.add(new PurchaseLine(this, lineCount, item, copies));
    }

    public String getId() {
        return id;
    }

    public long getPlaced() {
        return placed;
    }

    public long getTotal() {
        return total;
    }
}
