import javax.persistence.Entity;
import javax.persistence.FetchType;
import javax.persistence.Id;
import javax.persistence.IdClass;
import javax.persistence.JoinColumn;
import javax.persistence.ManyToOne;
import javax.persistence.Table;
import java.io.Serializable;
import java.util.Objects;

/** Copies of an item within an order. */
@Entity
@Table(name = "order_lines")
@IdClass(PurchaseLine.Key.class)
public class PurchaseLine {
    @Id
    @ManyToOne(fetch = FetchType.LAZY)
    @JoinColumn(name = "order_id")
    private Purchase purchase;
    @Id
    private long line;
    @ManyToOne(fetch = FetchType.LAZY)
    @JoinColumn(name = "item")
    private Item item;
    private long quantity;
    private long price;
    private long placed;

    protected PurchaseLine() {
    }

    PurchaseLine(Purchase purchase, long line, Item item, long quantity) {
        this.purchase = purchase;
        this.line = line;
        this.item = item;
        this.quantity = quantity;
        price = item.getPrice();
        placed = purchase.getPlaced();
    }

    public Item getItem() {
        return item;
    }

    public long getQuantity() {
        return quantity;
    }

    public long getPrice() {
        return price;
    }

    /** Primary key. */
    public static final class Key implements Serializable {
        private static final long serialVersionUID = 1;
        public String purchase;
        public long line;

        @Override
        public boolean equals(Object other) {
            return other instanceof Key key && Objects.equals(key.purchase, purchase) && key.line == line;
        }

        @Override
        public int hashCode() {
            return Objects.hash(purchase, line);
        }
    }
}
