// Package events streams the history of meetings to listeners in this process: the event streams of
// the API, the screens at doors, and webhooks that need the content of an event.
package events
