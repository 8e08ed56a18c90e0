<%@ include file="rows.jspf" %>
<h1>${Escape.htmlElementContent(outcome)}</h1>
<table>
<% for (Object row : list(request, "rows")) { pageContext.setAttribute("row", row); %>
<tr><td>${row.id}</td><td>${Escape.htmlElementContent(row.title)}</td><td>${row.price}</td></tr>
<% } %>
</table>
