// Package linkpages serves the HTML pages that links in mails, and codes at doors, lead to:
// decide on a request, check in, answer an invitation, accept an offer of the waiting list.
//
// A link carries a signed token, so its reader needs no session. The pages work without
// scripts. GET never changes anything, since mail programs follow links.
package linkpages
