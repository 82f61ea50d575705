package account

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
)

// Scope narrows an API token to a part of its user's rights. The topic scopes are different: they
// grant a right that the user need not have. An admin gives them to the token of a program, which
// can then do that and nothing else.
type Scope string

const (
	MeetingsRead       Scope = "meetings:read"
	MeetingsWrite      Scope = "meetings:write"
	RoomsRead          Scope = "rooms:read" // includes sites
	RoomsWrite         Scope = "rooms:write"
	UsersRead          Scope = "users:read"
	UsersWrite         Scope = "users:write" // equals full rights, because it can create an admin
	NotificationsRead  Scope = "notifications:read"
	NotificationsWrite Scope = "notifications:write"
	JobsAdmin          Scope = "jobs:admin"
	AuditRead          Scope = "audit:read"
	WebhooksAdmin      Scope = "webhooks:admin" // can receive every event
	TopicsProduce      Scope = "topics:produce" // the topic scopes may name one topic: "topics:produce:orders"
	TopicsConsume      Scope = "topics:consume"
	TopicsAdmin        Scope = "topics:admin"

	// SCIM is for a directory of people that writes users and groups. Like the topic scopes, it grants
	// a right that the user of the token need not have.
	SCIM Scope = "scim"

	// CalDAV makes a token the app password of a calendar program, see [Service.AppPassword]. Such a
	// token has no other scope and opens nothing else.
	CalDAV Scope = "caldav"

	// anyTopics is for operations that accept any topic scope.
	anyTopics Scope = "topics"

	// atDoor is for operations of devices at the door of a room, and only for those. Their scope
	// names the room: "door:12". Only pairing creates it.
	atDoor Scope = "door"

	// enrolling is for operations that set up a second factor. A session that can do nothing else
	// has it as its only scope.
	enrolling Scope = "second-factor"

	// anyScope is for operations that accept every token, unscoped for those that only accept a
	// token without scopes, because a narrow token could use them to gain rights.
	anyScope Scope = ""
	unscoped Scope = "-"
)

// Scopes lists what an API token may have, besides [CalDAV], which is for app passwords.
var Scopes = []Scope{
	MeetingsRead, MeetingsWrite, RoomsRead, RoomsWrite, UsersRead, UsersWrite, NotificationsRead, NotificationsWrite,
	JobsAdmin, AuditRead, WebhooksAdmin, TopicsProduce, TopicsConsume, TopicsAdmin, SCIM,
}

func (s Scope) known() bool {
	if slices.Contains(Scopes, s) || s == CalDAV {
		return true
	}
	i := strings.LastIndexByte(string(s), ':')
	return i >= 0 && len(s) <= 200 && i+1 < len(s) &&
		slices.Contains([]Scope{TopicsProduce, TopicsConsume, TopicsAdmin}, s[:i])
}

// grantsRight reports whether only an admin can give s, to a token of any user.
func (s Scope) grantsRight() bool { return s == SCIM || s.isTopic() }

func (s Scope) isTopic() bool {
	return s == anyTopics || strings.HasPrefix(string(s), string(anyTopics)+":")
}

type rule struct {
	minRole Role // "": public
	scope   Scope
}

// table holds the rule of every operation of the REST API. Whether the caller may act on this
// particular meeting or request is decided by the rules of meetings.
var table = map[string]rule{
	"login":   {},
	"session": {}, // checks credentials itself, to report that there are none
	"setup":   {}, // authorized by its token

	"request-password-reset": {},
	"check-password-link":    {}, // authorized by its token
	"confirm-password-reset": {}, // authorized by its token

	"confirm-login":          {}, // authorized by its challenge
	"get-second-factor":      {Member, enrolling},
	"enroll-second-factor":   {Member, enrolling},
	"confirm-second-factor":  {Member, enrolling},
	"renew-recovery-codes":   {Member, unscoped},
	"disable-second-factor":  {Member, unscoped},
	"get-user-second-factor": {Admin, UsersRead},

	"begin-passkey-login": {}, // for whoever signs in
	"passkey-login":       {}, // authorized by its passkey
	"list-my-passkeys":    {Member, enrolling},
	"begin-passkey":       {Member, enrolling},
	"add-passkey":         {Member, enrolling},
	"rename-passkey":      {Member, unscoped},
	"remove-passkey":      {Member, unscoped},
	"list-user-passkeys":  {Admin, UsersRead},
	"remove-user-passkey": {Admin, UsersWrite},

	"reset-second-factor": {Admin, UsersWrite},

	"logout":    {Member, anyScope}, // ends only the token's own session
	"me":        {Member, anyScope},
	"update-me": {Member, unscoped},

	"get-preferences":    {Member, unscoped},
	"update-preferences": {Member, unscoped},
	"get-chat":           {Member, unscoped},
	"connect-chat":       {Member, unscoped},
	"disconnect-chat":    {Member, unscoped},
	"test-chat":          {Member, unscoped},

	"list-my-tokens":  {Member, unscoped},
	"create-my-token": {Member, unscoped},
	"delete-my-token": {Member, unscoped},
	"list-deputies":   {Manager, unscoped},

	"list-my-delegates":    {Member, unscoped},
	"set-my-delegate":      {Member, unscoped},
	"remove-my-delegate":   {Member, unscoped},
	"list-my-principals":   {Member, MeetingsRead}, // a program finds here whom it may name as organizer
	"list-user-delegates":  {Admin, UsersRead},
	"set-user-delegate":    {Admin, UsersWrite},
	"remove-user-delegate": {Admin, UsersWrite},

	"create-feed":   {Member, unscoped},
	"list-feeds":    {Member, unscoped},
	"delete-feed":   {Member, unscoped},
	"my-calendar":   {}, // authorized by its token, like room-calendar
	"room-calendar": {},

	"list-user-tokens":  {Admin, UsersRead},
	"create-user-token": {Admin, unscoped},
	"delete-user-token": {Admin, UsersWrite},

	"list-my-sessions":    {Member, unscoped},
	"delete-my-session":   {Member, unscoped},
	"list-user-sessions":  {Admin, UsersRead},
	"list-user-feeds":     {Admin, UsersRead},
	"delete-user-feed":    {Admin, UsersWrite},
	"delete-user-session": {Admin, UsersWrite},

	"list-users":  {Admin, UsersRead},
	"get-user":    {Admin, UsersRead},
	"create-user": {Admin, UsersWrite},
	"update-user": {Admin, UsersWrite},
	"invite-user": {Admin, UsersWrite},

	"leave-user":    {Admin, UsersWrite},
	"get-departure": {Admin, UsersRead},
	"erase-user":    {Admin, unscoped},
	"erase-guest":   {Admin, unscoped},
	"list-erasures": {Admin, UsersRead},
	"export-user":   {Admin, unscoped},
	"export-me":     {Member, unscoped},

	"list-groups":         {Admin, UsersRead},
	"list-group-sources":  {Admin, UsersRead},
	"get-group":           {Admin, UsersRead},
	"list-group-members":  {Admin, UsersRead},
	"create-group":        {Admin, UsersWrite},
	"update-group":        {Admin, UsersWrite},
	"delete-group":        {Admin, UsersWrite},
	"add-group-member":    {Admin, UsersWrite},
	"remove-group-member": {Admin, UsersWrite},

	"find-people": {Member, UsersRead},
	"people-busy": {Member, MeetingsRead}, // times only

	"list-my-rooms":        {Member, MeetingsRead}, // recent rooms follow from meetings
	"add-favorite-room":    {Member, unscoped},
	"remove-favorite-room": {Member, unscoped},

	"list-sites":          {Member, RoomsRead},
	"get-site":            {Member, RoomsRead},
	"create-site":         {Admin, RoomsWrite},
	"update-site":         {Admin, RoomsWrite},
	"delete-site":         {Admin, RoomsWrite},
	"list-custom-fields":  {Member, RoomsRead},
	"get-custom-field":    {Member, RoomsRead},
	"create-custom-field": {Admin, RoomsWrite},
	"update-custom-field": {Admin, RoomsWrite},
	"delete-custom-field": {Admin, RoomsWrite},
	"list-types":          {Member, RoomsRead},
	"get-type":            {Member, RoomsRead},
	"create-type":         {Admin, RoomsWrite},
	"update-type":         {Admin, RoomsWrite},
	"delete-type":         {Admin, RoomsWrite},
	"list-rooms":          {Member, RoomsRead},
	"get-room":            {Member, RoomsRead},
	"room-availability":   {Member, RoomsRead},
	"room-suggestions":    {Member, RoomsRead},
	"room-door-code":      {Manager, RoomsRead},
	"room-free-busy":      {Member, RoomsRead},
	"room-days":           {Member, RoomsRead}, // statistics only
	"create-room":         {Admin, RoomsWrite},
	"import-rooms":        {Admin, RoomsWrite},
	"update-room":         {Admin, RoomsWrite},
	"delete-room":         {Admin, RoomsWrite},
	"get-room-photo":      {Member, RoomsRead},
	"set-room-photo":      {Admin, RoomsWrite},
	"delete-room-photo":   {Admin, RoomsWrite},

	"get-room-chat":        {Admin, WebhooksAdmin}, // its readers see many events
	"connect-room-chat":    {Admin, WebhooksAdmin},
	"disconnect-room-chat": {Admin, WebhooksAdmin},
	"test-room-chat":       {Admin, WebhooksAdmin},
	"get-site-chat":        {Admin, WebhooksAdmin},
	"connect-site-chat":    {Admin, WebhooksAdmin},
	"disconnect-site-chat": {Admin, WebhooksAdmin},
	"test-site-chat":       {Admin, WebhooksAdmin},

	"list-floor-plans":       {Member, RoomsRead},
	"get-floor-plan":         {Member, RoomsRead},
	"get-floor-plan-picture": {Member, RoomsRead},
	"create-floor-plan":      {Admin, RoomsWrite},
	"update-floor-plan":      {Admin, RoomsWrite},
	"delete-floor-plan":      {Admin, RoomsWrite},

	"list-fault-reports":  {Member, RoomsRead},
	"get-fault-report":    {Member, RoomsRead},
	"create-fault-report": {Member, MeetingsWrite},
	"update-fault-report": {Manager, MeetingsWrite},

	"get-branding":    {}, // shown before the sign-in, like the logo
	"get-logo":        {},
	"update-branding": {Admin, RoomsWrite},

	"create-door-code":   {Manager, RoomsWrite},
	"list-door-devices":  {Manager, RoomsRead},
	"delete-door-device": {Manager, RoomsWrite},
	"pair-door":          {}, // authorized by its code
	"get-door":           {Member, atDoor},
	"door-events":        {Member, atDoor},
	"door-book":          {Member, atDoor},
	"door-report-fault":  {Member, atDoor},
	"get-door-photo":     {Member, atDoor},
	"door-check-in":      {Member, atDoor},
	"door-end":           {Member, atDoor},
	"door-extend":        {Member, atDoor},

	"import-ics": {Admin, MeetingsWrite},

	"list-blackouts":  {Member, RoomsRead},
	"get-blackout":    {Member, RoomsRead},
	"create-blackout": {Admin, RoomsWrite},
	"update-blackout": {Admin, RoomsWrite},
	"delete-blackout": {Admin, RoomsWrite},

	"public-rooms":      {},
	"public-meetings":   {},
	"get-public-access": {Admin, RoomsRead},
	"set-public-access": {Admin, RoomsWrite},

	"list-holidays":    {Member, RoomsRead},
	"get-holidays":     {Member, RoomsRead},
	"preview-holidays": {Admin, RoomsWrite},
	"create-holidays":  {Admin, RoomsWrite},
	"update-holidays":  {Admin, RoomsWrite},
	"delete-holidays":  {Admin, RoomsWrite},

	"stream-events":         {Member, MeetingsRead},
	"list-meetings":         {Member, MeetingsRead},
	"grid":                  {Member, MeetingsRead},
	"get-meeting":           {Member, MeetingsRead},
	"meeting-calendar":      {Member, MeetingsRead},
	"meeting-history":       {Member, MeetingsRead},
	"meeting-notifications": {Member, MeetingsRead},
	"create-meeting":        {Member, MeetingsWrite},
	"update-meeting":        {Member, MeetingsWrite},
	"cancel-meeting":        {Member, MeetingsWrite},
	"undo-meeting":          {Member, MeetingsWrite},
	"approve-meeting":       {Manager, MeetingsWrite},
	"approve-series":        {Manager, MeetingsWrite},
	"reject-series":         {Manager, MeetingsWrite},
	"reject-meeting":        {Manager, MeetingsWrite},
	"check-in-meeting":      {Member, MeetingsWrite},
	"respond-meeting":       {Member, MeetingsWrite},
	"respond-series":        {Member, MeetingsWrite},
	"end-meeting":           {Member, MeetingsWrite},
	"extend-meeting":        {Member, MeetingsWrite},
	"release-meeting":       {Manager, MeetingsWrite},

	"list-waitlist":  {Member, MeetingsRead},
	"get-wait":       {Member, MeetingsRead},
	"join-waitlist":  {Member, MeetingsWrite},
	"leave-waitlist": {Member, MeetingsWrite},
	"accept-offer":   {Member, MeetingsWrite},
	"decline-offer":  {Member, MeetingsWrite},

	"report-utilisation":  {Manager, MeetingsRead}, // statistics only
	"report-meetings":     {Manager, MeetingsRead}, // hours by person
	"report-meeting-list": {Manager, MeetingsRead},
	"report-punctuality":  {Admin, JobsAdmin},

	"preview-series":        {Member, MeetingsWrite},
	"create-series":         {Member, MeetingsWrite},
	"preview-repeat":        {Member, MeetingsWrite},
	"repeat-meeting":        {Member, MeetingsWrite},
	"list-series":           {Member, MeetingsRead},
	"get-series":            {Member, MeetingsRead},
	"update-series":         {Member, MeetingsWrite},
	"preview-series-update": {Member, MeetingsWrite},
	"cancel-series":         {Member, MeetingsWrite},
	"undo-series":           {Member, MeetingsWrite},
	"add-series-date":       {Member, MeetingsWrite},

	"list-notifications":   {Admin, NotificationsRead},
	"get-notification":     {Admin, NotificationsRead},
	"resend-notifications": {Admin, NotificationsWrite},
	"resend-notification":  {Admin, NotificationsWrite},
	"list-bounces":         {Admin, NotificationsRead},
	"clear-bounce":         {Admin, NotificationsWrite},
	"send-test-mail":       {Admin, NotificationsWrite},
	"list-outbox":          {Admin, NotificationsRead}, // messages stored by outbox drivers
	"get-outbox-message":   {Admin, NotificationsRead},

	"list-jobs":         {Admin, JobsAdmin},
	"pause-job":         {Admin, JobsAdmin},
	"resume-job":        {Admin, JobsAdmin},
	"list-dead-jobs":    {Admin, JobsAdmin},
	"get-dead-job":      {Admin, JobsAdmin},
	"list-job-messages": {Admin, JobsAdmin},
	"coming-jobs":       {Admin, JobsAdmin},
	"discard-dead-jobs": {Admin, JobsAdmin},
	"requeue-dead-job":  {Admin, JobsAdmin},
	"requeue-dead-jobs": {Admin, JobsAdmin},
	"discard-dead-job":  {Admin, JobsAdmin},

	// A token for one topic passes this table. The handler checks the topic.
	"add-topic-jobs":         {Admin, TopicsProduce},
	"reschedule-topic-job":   {Admin, TopicsProduce},
	"delete-topic-job":       {Admin, TopicsProduce},
	"get-topic-job":          {Admin, anyTopics},
	"list-topic-jobs":        {Admin, anyTopics},
	"delete-topic-jobs":      {Admin, TopicsAdmin},
	"pop-topic-jobs":         {Admin, TopicsConsume},
	"pop-jobs-of-topics":     {Admin, TopicsConsume},
	"finish-topic-job":       {Admin, TopicsConsume},
	"finish-topic-jobs":      {Admin, TopicsConsume},
	"extend-topic-job":       {Admin, TopicsConsume},
	"fail-topic-job":         {Admin, TopicsConsume},
	"list-topics":            {Admin, anyTopics},
	"get-topic":              {Admin, anyTopics},
	"pause-topic":            {Admin, TopicsAdmin},
	"resume-topic":           {Admin, TopicsAdmin},
	"list-dead-topic-jobs":   {Admin, TopicsAdmin},
	"requeue-dead-topic-job": {Admin, TopicsAdmin},
	"get-topic-webhook":      {Admin, TopicsAdmin},
	"set-topic-webhook":      {Admin, TopicsAdmin},
	"delete-topic-webhook":   {Admin, TopicsAdmin},

	"list-webhooks":   {Admin, WebhooksAdmin},
	"create-webhook":  {Admin, WebhooksAdmin},
	"get-webhook":     {Admin, WebhooksAdmin},
	"update-webhook":  {Admin, WebhooksAdmin},
	"delete-webhook":  {Admin, WebhooksAdmin},
	"ping-webhook":    {Admin, WebhooksAdmin},
	"list-deliveries": {Admin, WebhooksAdmin},
	"resend-delivery": {Admin, WebhooksAdmin},

	"list-audit":   {Admin, AuditRead},
	"export-audit": {Admin, AuditRead},

	"scim": {Admin, SCIM}, // all requests below /scim/v2

	"caldav":       {Member, CalDAV},  // all requests below /dav
	"list-mails":   {Admin, unscoped}, // mails have private titles
	"receive-mail": {Admin, unscoped},
	"get-mail":     {Admin, unscoped},
	"process-mail": {Admin, unscoped},

	"get-config":  {Admin, unscoped},
	"plan-config": {Admin, unscoped},
}

// Public reports whether an operation needs no sign-in.
func Public(op string) bool {
	r, ok := table[op]
	return ok && r.minRole == ""
}

// Authorize reports whether p may call the operation. It returns [ErrUnauthorized] if p is nil and
// the operation needs a sign-in, else [ErrForbidden]. An operation that is not in the table is
// forbidden to everyone.
func Authorize(p *Principal, op string) error {
	r, ok := table[op]
	switch {
	case !ok:
		return fmt.Errorf("operation %q is not in the table: %w", op, ErrForbidden)
	case r.minRole == "":
		return nil
	case p == nil:
		return ErrUnauthorized
	case (r.scope == atDoor) != p.AtDoor(), (r.scope == CalDAV) != p.isAppPassword():
		return ErrForbidden // door operations are for devices only, and devices may call nothing else; likewise app passwords
	case r.scope == atDoor, p.grants(r.scope):
		return nil
	case !p.Role.Covers(r.minRole), r.scope != anyScope && !p.HasScope(r.scope):
		return ErrForbidden
	}
	return nil
}

// Operations returns the IDs of all operations in no particular order.
func Operations() iter.Seq[string] { return maps.Keys(table) }
