package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"punctual/meeting"
	"punctual/meeting/places"
)

// Site is a place with rooms.
type Site struct {
	ID        int64     `json:"id"`
	Name      string    `json:"name"`
	Timezone  *string   `json:"timezone" doc:"IANA time zone name; null if the installation's time zone applies"`
	Address   *string   `json:"address" doc:"Part before the @ of the mail address that stands for any room of the site, or with plus signs and features, as in berlin+whiteboard, for any that has these; null if it has none" example:"berlin"`
	Facility  *string   `json:"facility_email" doc:"Where faults of its rooms are mailed; null if nowhere" example:"facility@example.org"`
	Access    Access    `json:"access" doc:"What members of groups may do in rooms of the site that have no access of their own"`
	Version   int64     `json:"version"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

func siteOf(s *meeting.Site) Site {
	return Site{
		ID: s.ID, Name: s.Name, Timezone: text(s.Timezone), Address: text(s.Address), Facility: text(s.Facility), Access: *accessOf(&s.Access), Version: s.Version,
		CreatedAt: s.CreatedAt.UTC(), UpdatedAt: s.UpdatedAt.UTC(),
	}
}

// SitePatch changes a site. Fields that are left out stay unchanged.
type SitePatch struct {
	Name     Field[string] `json:"name,omitempty" doc:"1 to 200 characters"`
	Timezone Field[string] `json:"timezone,omitempty" doc:"IANA time zone name for the site's rooms; null for the installation's time zone" example:"Europe/Berlin"`
	Address  Field[string] `json:"address,omitempty" doc:"Part before the @ of a mail address, in lower case; invitations to it book any room of the site that is large enough. Features may follow it with plus signs, in lower case and with hyphens, as in berlin+video-conference: then only rooms with these are booked. Null for none" example:"berlin"`
	Facility Field[string] `json:"facility_email,omitempty" doc:"Where faults of its rooms are mailed; null for nowhere" example:"facility@example.org"`
	Access   Field[Access] `json:"access,omitempty" doc:"Complete access, which replaces the previous one; null for everyone"`
}

// SiteInput is a new site.
type SiteInput SitePatch

// TransformSchema names what a new site must have.
func (SiteInput) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	s.Required = []string{"name"}
	return s
}

func (p SitePatch) fields(faults []meeting.Fault) places.SiteFields {
	return places.SiteFields{Name: p.Name.ptr(), Timezone: p.Timezone.ptr(), Address: p.Address.ptr(), Facility: p.Facility.ptr(), Access: mapField(p.Access, Access.access), Faults: faults}
}

func (h *handlers) registerSites(api huma.API) {
	const tag = "Rooms"
	register(api, operation("list-sites", http.MethodGet, "/sites", "List sites", tag), h.listSites)
	register(api, creates(operation("create-site", http.MethodPost, "/sites", "Add a site", tag)), h.createSite)
	register(api, operation("get-site", http.MethodGet, "/sites/{id}", "Get a site", tag), h.site)
	register(api, operation("update-site", http.MethodPatch, "/sites/{id}", "Change a site", tag), h.updateSite)
	register(api, deletes(operation("delete-site", http.MethodDelete, "/sites/{id}", "Delete a site without rooms", tag)), h.deleteSite)
}

func (h *handlers) listSites(ctx context.Context, in *Paging) (*listOutput[Site], error) {
	sites, next, err := h.places.Sites(ctx, in.page())
	if err != nil {
		return nil, err
	}
	return listed(sites, next, siteOf), nil
}

func (h *handlers) createSite(ctx context.Context, in *struct{ Body Body[SiteInput] }) (*made[Site], error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	input, faults := in.Body.read(h.registry)
	s, err := h.places.CreateSite(ctx, by, SitePatch(input).fields(faults))
	if err != nil {
		return nil, err
	}
	return &made[Site]{ETag: etag(s.Version), Location: h.locate("sites", s.ID), Body: siteOf(s)}, nil
}

func (h *handlers) site(ctx context.Context, in *Target) (*one[Site], error) {
	s, err := h.places.Site(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return &one[Site]{ETag: etag(s.Version), Body: siteOf(s)}, nil
}

type updateSiteInput struct {
	Target
	Guard
	Body Body[SitePatch]
}

func (h *handlers) updateSite(ctx context.Context, in *updateSiteInput) (*one[Site], error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	patch, faults := in.Body.read(h.registry)
	s, err := h.places.UpdateSite(ctx, by, in.ID, in.version(), patch.fields(faults))
	if err != nil {
		return nil, err
	}
	return &one[Site]{ETag: etag(s.Version), Body: siteOf(s)}, nil
}

func (h *handlers) deleteSite(ctx context.Context, in *guardedInput) (*struct{}, error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	return nil, h.places.DeleteSite(ctx, by, in.ID, in.version())
}
