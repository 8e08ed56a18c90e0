import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import jakarta.servlet.http.HttpServletResponseWrapper;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;

/** Text of a JSP page, which is not sent. */
final class JspText {
    private JspText() {
    }

    /** Renders a page for a request whose attributes are the page's data. */
    static String render(String url, HttpServletRequest request, HttpServletResponse response)
        throws ServletException, IOException {
        Capture capture = new Capture(response);
        request.getRequestDispatcher(url).include(request, capture);
        return capture.text.toString();
    }

    /** Keeps the text of a page. */
    private static final class Capture extends HttpServletResponseWrapper {
        final StringWriter text = new StringWriter();
        private final PrintWriter writer = new PrintWriter(text);

        Capture(HttpServletResponse response) {
            super(response);
        }

        @Override
        public PrintWriter getWriter() {
            return writer;
        }
    }
}
