<%-- The support site: no state between pages. Its downloads are files. --%>
<%@ page session="false" trimDirectiveWhitespaces="true" pageEncoding="UTF-8" %>
<%@ include file="facts.jspf" %><%@ include file="page.jspf" %><%@ include file="backend.jspf" %>
<%!
static final int SUPPORT = 3;

static void show(HttpServletResponse response, String operation, String title, int command, String... parameters)
        throws java.io.IOException {
    java.util.List<String[]> rows = ask(SUPPORT, command, parameters);
    Page page = Page.begin(title);
    for (String parameter : parameters) {
        page.put("<p>You asked for " + escape(parameter) + "</p>\n");
    }
    page.table(rows);
    page.finish(response, "support/" + operation);
}
%>
<%
String script = script(request);
String id = given(request, "id");
try {
    switch (script) {
        case "index" -> show(response, "home", "Support: home", 1);
        case "search" -> show(response, "search", "Support: search results", 2, given(request, "q"));
        case "catalog" -> show(response, "catalog", "Support: category " + id, 3, id);
        case "product" -> show(response, "product", "Support: product " + id, 4, id);
        case "file_catalog" -> show(response, "fileCatalog", "Support: files for " + id, 5, id,
            given(request, "category"), given(request, "os"), given(request, "lang"));
        case "file" -> show(response, "file", "Support: file " + id, 6, id);
        default -> refuse(response, 404);
    }
} catch (BackendError error) {
    System.err.println(script + ": " + error.getMessage());
    refuse(response, 502);
}
%>
