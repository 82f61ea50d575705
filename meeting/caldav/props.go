package caldav

import (
	"encoding/xml"
	"net/http"
	"strconv"
	"strings"

	"punctual/meeting"
)

func dav(local string) xml.Name   { return xml.Name{Space: davNS, Local: local} }
func cserv(local string) xml.Name { return xml.Name{Space: calendarServerNS, Local: local} }

// node is a resource with the data of its properties.
type node struct {
	place
	room *meeting.Room
	list *listing // of a calendar, read when it is needed
	etag string   // of an object
	text string   // of an object, if it was asked for

	chosen map[xml.Name]string // what the user named and colored; nil: not read yet
}

// property is the name of a property that was asked for.
type property struct {
	name xml.Name
	of   *element // nil: by allprop
}

// everything are the properties for allprop.
var everything = []xml.Name{
	dav("resourcetype"), dav("displayname"), dav("getetag"), dav("getcontenttype"), dav("current-user-principal"),
}

// wanted returns the properties that a request names; all without one. names: their names alone.
func wanted(body *element) (ps []property, names bool) {
	prop := body.kid(davNS, "prop")
	if prop == nil {
		for _, n := range everything {
			ps = append(ps, property{name: n})
		}
		return ps, body.kid(davNS, "propname") != nil
	}
	for _, k := range prop.kids {
		ps = append(ps, property{k.name, k})
	}
	return ps, false
}

func (r *request) propfind() error {
	depth, err := r.depth()
	if err != nil {
		return err
	}
	body, err := r.body()
	if err != nil {
		return err
	}
	if body != nil && !body.is(davNS, "propfind") {
		return &davError{status: http.StatusBadRequest, detail: "the body must be DAV:propfind"}
	}
	ps, names := wanted(body)
	nodes, err := r.nodes(depth)
	if err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString("<d:multistatus" + declarations + ">")
	for _, n := range nodes {
		text, err := r.response(n, ps, names)
		if err != nil {
			return err
		}
		b.WriteString(text)
	}
	b.WriteString("</d:multistatus>")
	r.xml(http.StatusMultiStatus, b.String())
	return nil
}

// nodes returns the resource, and with depth 1 what it contains.
func (r *request) nodes(depth int) ([]*node, error) {
	n := &node{place: r.place}
	if r.place.room {
		room, err := r.room(r.place.id)
		if err != nil {
			return nil, err
		}
		n.room = room
	}
	if r.place.kind == object {
		o, err := r.object(r.place.name)
		if err != nil {
			return nil, err
		}
		n.etag = o.ETag
	}
	nodes := []*node{n}
	if depth == 0 {
		return nodes, nil
	}
	add := func(k kind) { nodes = append(nodes, &node{place: r.place.with(k, ""), room: n.room}) }
	switch r.place.kind {
	case root:
		nodes = append(nodes, &node{place: place{kind: principals}}, &node{place: place{kind: calendars}})
	case principals:
		nodes = append(nodes, &node{place: place{kind: userPrincipal, id: r.by.ID}})
	case calendars:
		nodes = append(nodes, &node{place: place{kind: home, id: r.by.ID}})
	case home:
		add(calendar)
		if !r.place.room && r.Settings().Schedule {
			add(inbox)
			add(outbox)
		}
	case calendar:
		l, live, err := r.contents()
		if err != nil {
			return nil, err
		}
		n.list = l
		for _, o := range live {
			nodes = append(nodes, &node{place: r.place.with(object, o.Name), etag: o.ETag})
		}
	}
	return nodes, nil
}

// response is the part of a multistatus about a resource.
func (r *request) response(n *node, ps []property, names bool) (string, error) {
	var found, missing strings.Builder
	if err := r.readChosen(n); err != nil {
		return "", err
	}
	for _, p := range ps {
		content, ok, err := r.property(n, p)
		switch {
		case err != nil:
			return "", err
		case ok && names:
			found.WriteString(tag(p.name, ""))
		case ok:
			found.WriteString(tag(p.name, content))
		case p.of != nil:
			missing.WriteString(tag(p.name, ""))
		}
	}
	text := href(n.path())
	if found.Len() > 0 || missing.Len() == 0 {
		text += propstat(found.String(), http.StatusOK)
	}
	if missing.Len() > 0 {
		text += propstat(missing.String(), http.StatusNotFound)
	}
	return davTag("response", text), nil
}

func propstat(props string, status int) string {
	return davTag("propstat", "<d:prop>"+props+"</d:prop>"+statusTag(status))
}

func statusTag(status int) string {
	return davTag("status", "HTTP/1.1 "+strconv.Itoa(status)+" "+http.StatusText(status))
}

// property returns the content of a property, XML, or false if the resource does not have it.
func (r *request) property(n *node, p property) (content string, ok bool, err error) {
	if content, ok := n.chosen[p.name]; ok {
		return content, true, nil
	}
	switch p.name.Space {
	case davNS:
		return r.davProperty(n, p.name.Local)
	case calNS:
		content, ok = r.calProperty(n, p)
	case calendarServerNS:
		switch {
		case p.name.Local == "getctag" && n.kind == calendar:
			return r.token(n)
		case p.name.Local == "email-address-set" && n.kind == userPrincipal:
			return tag(cserv("email-address"), escape(r.by.Email)), true, nil
		}
	}
	return content, ok, nil
}

func (r *request) davProperty(n *node, local string) (content string, ok bool, err error) {
	yes := func(content string) (string, bool, error) { return content, true, nil }
	principal := n.kind == userPrincipal || n.kind == roomPrincipal
	switch local {
	case "resourcetype":
		return yes(resourceType(n.kind))
	case "displayname":
		if n.kind != object {
			return yes(escape(r.name(n)))
		}
	case "current-user-principal":
		return yes(href(place{kind: userPrincipal, id: r.by.ID}.path()))
	case "principal-collection-set":
		return yes(href(place{kind: principals}.path()))
	case "principal-URL":
		if principal {
			return yes(href(n.path()))
		}
	case "owner":
		if n.id != 0 {
			return yes(href(n.principal().path()))
		}
	case "current-user-privilege-set":
		return yes(r.privileges(n))
	case "supported-report-set":
		return yes(reportsOf(n.kind))
	case "getetag":
		if n.kind == object {
			return yes(escape(n.etag))
		}
	case "getcontenttype":
		if n.kind == object {
			return yes(contentType)
		}
	case "sync-token":
		if n.kind == calendar {
			content, ok, err := r.token(n)
			return content, ok, err
		}
	case "group-membership", "group-member-set":
		if principal {
			return yes("")
		}
	}
	return "", false, nil
}

func (r *request) name(n *node) string {
	switch {
	case n.room != nil:
		return n.room.Name
	case n.kind == userPrincipal, n.kind == home:
		return r.by.Name
	case n.kind == calendar:
		return "Meetings"
	case n.kind == inbox:
		return "Inbox"
	case n.kind == outbox:
		return "Outbox"
	}
	return "Punctual"
}

func resourceType(k kind) string {
	collection := davTag("collection", "")
	switch k {
	case object:
		return ""
	case userPrincipal, roomPrincipal:
		return collection + davTag("principal", "")
	case calendar:
		return collection + calTag("calendar", "")
	case inbox:
		return collection + calTag("schedule-inbox", "")
	case outbox:
		return collection + calTag("schedule-outbox", "")
	}
	return collection
}

// privileges of the user.
func (r *request) privileges(n *node) string {
	all := []string{davTag("read", ""), davTag("read-current-user-privilege-set", "")}
	switch n.kind {
	case calendar, object:
		all = append(all, calTag("read-free-busy", ""))
		if !n.place.room {
			all = append(all, davTag("write", ""), davTag("write-content", ""))
			if n.kind == calendar {
				all = append(all, davTag("bind", ""), davTag("unbind", ""))
			}
		}
	case inbox:
		all = append(all, calTag("schedule-deliver", ""), calTag("schedule-deliver-invite", ""), calTag("schedule-deliver-reply", ""), calTag("schedule-query-freebusy", ""))
	case outbox:
		all = append(all, calTag("schedule-send", ""), calTag("schedule-send-invite", ""), calTag("schedule-send-reply", ""), calTag("schedule-send-freebusy", ""))
	}
	var b strings.Builder
	for _, p := range all {
		b.WriteString(davTag("privilege", p))
	}
	return b.String()
}

func reportsOf(k kind) string {
	var b strings.Builder
	add := func(reports ...string) {
		for _, report := range reports {
			b.WriteString(davTag("supported-report", davTag("report", report)))
		}
	}
	switch k {
	case calendar:
		add(calTag("calendar-query", ""), calTag("calendar-multiget", ""), calTag("free-busy-query", ""), davTag("sync-collection", ""))
	case root, principals, userPrincipal, roomPrincipal, home:
		add(davTag("principal-property-search", ""), davTag("principal-search-property-set", ""))
	}
	return b.String()
}

func (r *request) calProperty(n *node, p property) (content string, ok bool) {
	schedule := r.Settings().Schedule
	own := place{kind: home, room: n.place.room, id: n.id}
	switch p.name.Local {
	case "calendar-home-set":
		if n.kind == userPrincipal || n.kind == roomPrincipal {
			return href(own.path()), true
		}
	case "calendar-user-address-set":
		switch n.kind {
		case userPrincipal:
			return href("mailto:"+r.by.Email) + href(n.path()), true
		case roomPrincipal:
			return href("mailto:"+r.address(n.id)) + href(n.path()), true
		}
	case "calendar-user-type":
		switch n.kind {
		case userPrincipal:
			return "INDIVIDUAL", true
		case roomPrincipal:
			return "ROOM", true
		}
	case "schedule-inbox-URL":
		if n.kind == userPrincipal && schedule {
			return href(own.with(inbox, "").path()), true
		}
	case "schedule-outbox-URL":
		if n.kind == userPrincipal && schedule {
			return href(own.with(outbox, "").path()), true
		}
	case "schedule-default-calendar-URL":
		if n.kind == inbox {
			return href(n.with(calendar, "").path()), true
		}
	case "supported-calendar-component-set":
		if n.kind == calendar || n.kind == inbox || n.kind == outbox {
			return `<c:comp name="VEVENT"/>`, true
		}
	case "supported-calendar-data":
		if n.kind == calendar {
			return `<c:calendar-data content-type="text/calendar" version="2.0"/>`, true
		}
	case "supported-collation-set":
		if n.kind == calendar {
			return calTag("supported-collation", "i;ascii-casemap") + calTag("supported-collation", "i;octet"), true
		}
	case "max-resource-size":
		if n.kind == calendar {
			return strconv.Itoa(MaxBody), true
		}
	case "calendar-description":
		if n.kind == calendar && n.room != nil {
			return escape(n.room.Name), true
		}
	case "schedule-calendar-transp":
		if n.kind == calendar {
			if n.room != nil {
				return calTag("transparent", ""), true
			}
			return calTag("opaque", ""), true
		}
	case "calendar-data":
		if n.kind == object && n.text != "" {
			return escape(n.text), true
		}
	}
	return "", false
}

// MaxBody is the maximum size of a request body, in bytes.
const MaxBody = 1 << 20

// tokenPrefix makes a number a URI, as sync tokens must be.
const tokenPrefix = "urn:punctual:sync:"

// token returns the sync token of a calendar.
func (r *request) token(n *node) (string, bool, error) {
	if n.list == nil {
		c := Collection{UserID: r.by.ID, Email: r.by.Email}
		if n.place.room {
			c = Collection{RoomID: n.id}
		}
		l, err := r.list(r.ctx(), c)
		if err != nil {
			return "", false, err
		}
		n.list = l
	}
	return tokenPrefix + strconv.FormatInt(n.list.number, 10), true, nil
}
