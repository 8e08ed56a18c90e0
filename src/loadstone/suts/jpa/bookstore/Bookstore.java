import org.springframework.web.servlet.DispatcherServlet;

/** Front controller of the bookstore; Bookstore-servlet.xml configures it. */
public final class Bookstore extends DispatcherServlet {
    private static final long serialVersionUID = 1;
}
