import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import jakarta.servlet.http.HttpServletResponseWrapper;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.Map;
import org.springframework.web.servlet.view.InternalResourceView;

/** JSP page whose text is filled up to its operation's declared length. */
public final class PageView extends InternalResourceView {
    @Override
    protected void renderMergedOutputModel(Map<String, Object> model, HttpServletRequest request, HttpServletResponse response)
        throws Exception {
        exposeModelAsRequestAttributes(model, request);
        Capture capture = new Capture(response);
        request.getRequestDispatcher(getUrl()).include(request, capture);
        String operation = (String) model.get("operation");
        Page page = new Page(model.get("site") + ": " + operation.replace('_', ' '));
        capture.text.toString().lines().forEach(line -> page.put(line + "\n"));
        page.finish(response, Facts.of(operation));
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
