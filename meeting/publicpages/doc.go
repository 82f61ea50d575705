// Package publicpages serves the public calendar, which everyone can read without signing in. Its pages
// need no scripts. They never show people, descriptions or titles of private meetings.
package publicpages
