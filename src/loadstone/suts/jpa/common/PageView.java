import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.util.List;
import java.util.Map;
import org.springframework.web.servlet.view.InternalResourceView;

/** JSP page whose text is filled up to its operation's declared length. A page without an operation has none. */
public final class PageView extends InternalResourceView {
    @Override
    protected void renderMergedOutputModel(Map<String, Object> model, HttpServletRequest request, HttpServletResponse response)
        throws Exception {
        exposeModelAsRequestAttributes(model, request);
        String text = JspText.render(getUrl(), request, response);
        Page page = new Page((String) model.get("title"));
        text.lines().forEach(line -> page.put(line + "\n"));
        String operation = (String) model.get("operation");
        page.finish(response, operation == null ? new Facts(0, List.of()) : Facts.of(operation));
    }
}
