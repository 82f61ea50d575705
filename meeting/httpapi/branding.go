package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"punctual/meeting"
	"punctual/meeting/branding"
)

// Branding is what the page shows of the organization.
type Branding struct {
	Name         *string    `json:"name" doc:"Name of the organization; null if none"`
	Message      *string    `json:"message" doc:"Plain text for everyone; null if none"`
	MessageUntil *time.Time `json:"message_until" nullable:"true" doc:"When the message disappears; null if it stays"`
	Logo         *string    `json:"logo" doc:"Version of the logo, for v of /branding/logo; null without one"`
	Version      int64      `json:"version"`
}

func brandingOf(b *meeting.Branding) Branding {
	return Branding{Name: text(b.Name), Message: text(b.Message), MessageUntil: instant(b.MessageUntil), Logo: text(b.Logo), Version: b.Version}
}

// BrandingPatch changes the branding. Fields that are left out stay unchanged; null removes.
type BrandingPatch struct {
	Name         Field[string] `json:"name,omitempty" doc:"At most 60 characters"`
	Message      Field[string] `json:"message,omitempty" doc:"At most 300 characters, one line"`
	MessageUntil Field[string] `json:"message_until,omitempty" doc:"RFC 3339, or local in the installation's time zone; null if the message stays" example:"2027-02-10T18:00:00"`
	Logo         Field[[]byte] `json:"logo,omitempty" doc:"PNG, JPEG, WebP or SVG as base64, at most 720 KB; stored at most 480 pixels wide and high"`
}

func (p BrandingPatch) fields(faults []meeting.Fault) branding.Fields {
	return branding.Fields{
		Name: p.Name.ptr(), Message: p.Message.ptr(), Logo: p.Logo.ptr(), Faults: faults,
		NoEnd: p.MessageUntil.Set && p.MessageUntil.Value == "", MessageUntil: timeOf(p.MessageUntil.Value),
	}
}

func (h *handlers) registerBranding(api huma.API) {
	const tag = "Branding"
	get := operation("get-branding", http.MethodGet, "/branding", "Get name, message and logo of the organization", tag)
	get.Description = "Needs no sign-in. A message that has ended is left out."
	register(api, get, h.showBranding)
	change := heavy(operation("update-branding", http.MethodPatch, "/branding", "Change name, message or logo of the organization", tag))
	change.Errors = append(change.Errors, http.StatusPreconditionFailed)
	register(api, change, h.updateBranding)
	logo := operation("get-logo", http.MethodGet, "/branding/logo", "Get the logo of the organization", tag)
	logo.Description = "Needs no sign-in. With v, the version of the logo, it never changes and may be cached."
	logo.Responses = pictureResponses()
	logo.Errors = append(logo.Errors, http.StatusNotFound)
	register(api, logo, h.logo)
}

func (h *handlers) showBranding(ctx context.Context, _ *struct{}) (*one[Branding], error) {
	return answerBranding(h.branding.Branding(ctx))
}

type updateBrandingInput struct {
	Guard
	Body Body[BrandingPatch]
}

func (h *handlers) updateBranding(ctx context.Context, in *updateBrandingInput) (*one[Branding], error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	patch, faults := in.Body.read(h.registry)
	return answerBranding(h.branding.Update(ctx, by, in.version(), patch.fields(faults)))
}

func answerBranding(b *meeting.Branding, err error) (*one[Branding], error) {
	if err != nil {
		return nil, err
	}
	return &one[Branding]{ETag: etag(b.Version), Body: brandingOf(b)}, nil
}

type logoInput struct {
	IfNoneMatch string `header:"If-None-Match" doc:"ETag of the previous response; the response is 304 if nothing has changed"`
	Version     string `query:"v" maxLength:"64" doc:"Version of the logo, as the branding has it"`
}

func (h *handlers) logo(ctx context.Context, in *logoInput) (*photoOutput, error) {
	picture, version, err := h.branding.Logo(ctx)
	if err != nil {
		return nil, err
	}
	return pictured(picture.Content, picture.Type, version, version, in.Version, in.IfNoneMatch), nil
}
