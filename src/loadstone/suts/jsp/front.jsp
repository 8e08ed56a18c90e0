<%-- The page above the sites; and `/reset`, which forgets all sessions and resets the back end with the given load. --%>
<%@ page session="false" trimDirectiveWhitespaces="true" pageEncoding="UTF-8" %>
<%@ include file="facts.jspf" %><%@ include file="page.jspf" %><%@ include file="backend.jspf" %>
<%
String script = script(request);
try {
    if (script.isEmpty()) {
        Page front = Page.begin("JSP server");
        front.put("<p>The bank, the shop and the support site are below this page.</p>\n");
        front.finish(response, 1024);
    } else if (script.equals("reset") && request.getMethod().equals("POST")) {
        System.setProperty("loadstone.reset", String.valueOf(System.currentTimeMillis()));
        String sessions = given(request, "sessions");
        for (int workload = 1; workload <= 3; workload++) {
            ask(workload, 0, "0", sessions.isEmpty() ? "0" : sessions);
        }
        Page.begin("Reset").finish(response, 0);
    } else {
        refuse(response, 404);
    }
} catch (BackendError error) {
    System.err.println(script + ": " + error.getMessage());
    refuse(response, 502);
}
%>
