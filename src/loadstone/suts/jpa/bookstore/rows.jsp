<%@ include file="rows.jspf" %>
<h1>${Escape.htmlElementContent(outcome)}</h1>
<table>
<% for (Object row : list(request, "rows")) { %>
<tr><% for (Object cell : (Object[]) row) { pageContext.setAttribute("cell", cell); %><td>${Escape.htmlElementContent(cell)}</td><% } %></tr>
<% } %>
</table>
