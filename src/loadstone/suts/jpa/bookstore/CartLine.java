import javax.persistence.Column;
import javax.persistence.Entity;
import javax.persistence.FetchType;
import javax.persistence.Id;
import javax.persistence.IdClass;
import javax.persistence.JoinColumn;
import javax.persistence.ManyToOne;
import javax.persistence.Table;
import java.io.Serializable;
import java.util.Objects;

/** Copies of an item in a cart. */
@Entity
@Table(name = "cart_lines")
@IdClass(CartLine.Key.class)
public class CartLine {
    @Id
    @Column(name = "cart")
    private String cartId;
    @Id
    @ManyToOne(fetch = FetchType.LAZY)
    @JoinColumn(name = "item")
    private Item item;
    private long quantity;

    protected CartLine() {
    }

    CartLine(String cartId, Item item, long quantity) {
        this.cartId = cartId;
        this.item = item;
        this.quantity = quantity;
    }

    public Item getItem() {
        return item;
    }

    public long getQuantity() {
        return quantity;
    }

    void setQuantity(long copies) {
        quantity = copies;
    }

    /** Primary key. */
    public static final class Key implements Serializable {
        private static final long serialVersionUID = 1;
        public String cartId;
        public long item;

        @Override
        public boolean equals(Object other) {
            return other instanceof Key key && Objects.equals(key.cartId, cartId) && key.item == item;
        }

        @Override
        public int hashCode() {
            return Objects.hash(cartId, item);
        }
    }
}
