// Package scim lets a company's directory of people write users and groups: a service provider of SCIM 2.0
// (RFC 7643, RFC 7644), as Okta and Entra ID use it. It reads filters and changes, and speaks HTTP. The
// rules of users and groups are those of package account.
package scim
