import javax.persistence.Column;
import javax.persistence.Entity;
import javax.persistence.FetchType;
import javax.persistence.Id;
import javax.persistence.JoinColumn;
import javax.persistence.OneToOne;
import javax.persistence.Table;

/** Copies of an item: on the shelf, refilled, sold. */
@Entity
@Table(name = "stock")
public class Stock {
    private static final long REFILL_BELOW = 10;
    private static final long REFILL = 21;

    @Id
    @Column(name = "item")
    private long itemId;
    @OneToOne(fetch = FetchType.LAZY)
    @JoinColumn(name = "item", insertable = false, updatable = false)
    private Item item;
    private long quantity;
    private long restocked;
    private long sold;

    public Item getItem() {
        return item;
    }

    public long getItemId() {
        return itemId;
    }

    public long getQuantity() {
        return quantity;
    }

    /** Takes sold copies from the shelf, and refills it if few are left. */
    void sell(long copies) {
        quantity -= copies;
        sold += copies;
        if (quantity < REFILL_BELOW) {
            quantity += REFILL;
            restocked += REFILL;
        }
    }
}
