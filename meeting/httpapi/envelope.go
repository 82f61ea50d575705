package httpapi

import (
	"strconv"

	"punctual/account/rest"
	"punctual/meeting"
)

// Paging holds the query parameters of a list.
type Paging struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"50" doc:"Maximum number of items"`
	Cursor string `query:"cursor" maxLength:"1000" doc:"The next_cursor of the previous page"`
}

func (p Paging) page() meeting.Page { return meeting.Page{Limit: p.Limit, Cursor: p.Cursor} }

// Listing is one page of a list.
type Listing[T any] struct {
	Items      []T     `json:"items" nullable:"false"`
	NextCursor *string `json:"next_cursor" doc:"Cursor of the next page; null on the last page"`
}

type listOutput[T any] struct{ Body Listing[T] }

// listed is the response of a list.
func listed[T, U any](items []T, next string, convert func(T) U) *listOutput[U] {
	return &listOutput[U]{Body: Listing[U]{Items: list(items, convert), NextCursor: text(next)}}
}

// one is a response with a resource and its version.
type one[T any] struct {
	ETag string `header:"ETag" doc:"Version of the resource, for If-Match"`
	Body T
}

// made is the response to the creation of a resource.
type made[T any] struct {
	ETag     string `header:"ETag" doc:"Version of the resource, for If-Match"`
	Location string `header:"Location"`
	Body     T
}

func etag(version int64) string { return `"` + strconv.FormatInt(version, 10) + `"` }

// locate returns the address of a resource.
func (h *handlers) locate(collection string, id int64) string {
	return h.base + "/" + collection + "/" + strconv.FormatInt(id, 10)
}

// Target is one resource.
type Target struct {
	ID int64 `path:"id"`
}

// Guard holds the If-Match header of a change.
type Guard struct {
	IfMatch string `header:"If-Match" doc:"ETag of the version to change; the request fails with 412 if the resource has changed since"`
}

func (g Guard) version() *int64 { return rest.IfMatch(g.IfMatch) }

// guardedInput is a change without a body.
type guardedInput struct {
	Target
	Guard
}
