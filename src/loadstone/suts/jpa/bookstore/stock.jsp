<%@ include file="rows.jspf" %>
<h1>${Escape.htmlElementContent(outcome)}</h1>
<table>
<% for (Object row : list(request, "rows")) { pageContext.setAttribute("row", row); %>
<tr><td>${Escape.htmlElementContent(row.item.title)}</td><td>${Escape.htmlElementContent(row.item.author.name)}</td><td>${Escape.htmlElementContent(row.item.subject)}</td><td>${row.item.price}</td><td>${row.quantity}</td></tr>
<% } %>
</table>
