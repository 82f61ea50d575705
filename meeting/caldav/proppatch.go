package caldav

import (
	"encoding/xml"
	"net/http"
	"strings"
)

// Limits of what a user can name and color.
const (
	maxValue      = 16 << 10 // bytes; a time zone has some 2,000
	maxProperties = 50       // of one calendar
)

// choosable reports whether users can set properties of a place: calendars have a name, a color and an
// order that each user chooses.
func (k kind) choosable() bool { return k == home || k == calendar || k == inbox || k == outbox }

// readChosen reads what the user named and colored.
func (r *request) readChosen(n *node) error {
	if !n.kind.choosable() || n.chosen != nil {
		return nil
	}
	var err error
	n.chosen, err = r.Store.Properties(r.ctx(), r.by.ID, n.path())
	return err
}

// proppatch sets and removes properties, all or none. Those that the server computes cannot be changed.
func (r *request) proppatch() error {
	body, err := r.body()
	if err != nil {
		return err
	}
	if !body.is(davNS, "propertyupdate") {
		return &davError{status: http.StatusBadRequest, detail: "the body must be DAV:propertyupdate"}
	}
	nodes, err := r.nodes(0)
	if err != nil {
		return err
	}
	n := nodes[0]
	set, removed := map[xml.Name]string{}, map[xml.Name]bool{}
	var refused, others strings.Builder
	for _, change := range body.kids {
		for _, k := range change.kid(davNS, "prop").kidsOrNone() {
			computed, err := r.computed(n, k.name)
			switch {
			case err != nil:
				return err
			case computed:
				refused.WriteString(tag(k.name, ""))
				continue
			}
			delete(set, k.name)
			delete(removed, k.name)
			if change.is(davNS, "remove") {
				removed[k.name] = true
			} else if set[k.name] = k.content(); len(k.name.Space)+len(k.name.Local)+len(set[k.name]) > maxValue {
				return &davError{status: http.StatusInsufficientStorage, detail: "a property must not be that large"}
			}
			others.WriteString(tag(k.name, ""))
		}
	}
	text := href(n.path())
	if refused.Len() > 0 {
		text += davTag("propstat", "<d:prop>"+refused.String()+"</d:prop>"+statusTag(http.StatusForbidden)+davTag("error", davTag("cannot-modify-protected-property", "")))
		if others.Len() > 0 {
			text += propstat(others.String(), http.StatusFailedDependency)
		}
	} else {
		if err := r.choose(n, set, removed); err != nil {
			return err
		}
		text += propstat(others.String(), http.StatusOK)
	}
	r.xml(http.StatusMultiStatus, "<d:multistatus"+declarations+">"+davTag("response", text)+"</d:multistatus>")
	return nil
}

// computed reports whether the server computes a property, so that it cannot be changed.
func (r *request) computed(n *node, name xml.Name) (bool, error) {
	switch {
	case !n.kind.choosable():
		return true, nil
	case name.Space == davNS:
		return name.Local != "displayname", nil
	case name == xml.Name{Space: calNS, Local: "calendar-description"}:
		return false, nil
	}
	_, computed, err := r.property(&node{place: n.place, room: n.room}, property{name: name})
	return computed, err
}

func (r *request) choose(n *node, set map[xml.Name]string, removed map[xml.Name]bool) error {
	if err := r.readChosen(n); err != nil {
		return err
	}
	count := len(n.chosen)
	for name := range set {
		if _, there := n.chosen[name]; !there {
			count++
		}
	}
	if len(set) > 0 && count > maxProperties {
		return &davError{status: http.StatusInsufficientStorage, detail: "a calendar must not have that many properties"}
	}
	var remove []xml.Name
	for name := range removed {
		remove = append(remove, name)
	}
	return r.Store.SaveProperties(r.ctx(), r.by.ID, n.path(), set, remove)
}
