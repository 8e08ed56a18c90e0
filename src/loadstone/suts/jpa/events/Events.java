import org.springframework.web.servlet.DispatcherServlet;

/** Front controller of the site of events; Events-servlet.xml configures it. */
public final class Events extends DispatcherServlet {
    private static final long serialVersionUID = 1;
}
