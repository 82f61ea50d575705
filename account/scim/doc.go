// Package scim lets a company's directory manage users and groups: a service provider of SCIM 2.0
// (RFC 7643, RFC 7644), as used by Okta and Entra ID. It parses filters and changes, and serves HTTP. The
// rules for users and groups are in package account.
package scim
