package idempotency

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"punctual/delayjob/pause"
)

type store struct{ db *gorm.DB }

// request identifies a request. Two requests with the same BodyHash are the same. Owner
// is random and distinguishes the attempts of one request.
type request struct {
	UserID                             int64
	Key, Method, Path, BodyHash, Owner string
}

// answer is what is known of a request. Status 0: it still runs, or its process died.
type answer struct {
	BodyHash string
	Status   int
	Headers  http.Header
	Body     []byte // sealed

	Lost    bool      // the request saved changes, but its process died before it stored the response
	Subject string    // what it created, such as "room 12"; with Lost
	Since   time.Time // when the request began
}

type row struct {
	UserID     int64  `gorm:"primaryKey"`
	Key        string `gorm:"primaryKey"`
	Method     string
	Path       string
	BodyHash   string
	Status     int
	Headers    string
	Body       []byte
	CreatedAt  time.Time `gorm:"autoCreateTime:false"` // set by claim
	ExpiresAt  time.Time
	Owner      string
	LeaseUntil time.Time
	Saved      bool   // a transaction of the request has committed
	Subject    string // what it created
}

func (row) TableName() string { return "idempotency_keys" }

// claim inserts the request with a lease, in place of one that expired or whose lease ended without
// a response, unless that one saved changes. first reports whether it did; otherwise known is the state of the first request.
func (s store) claim(ctx context.Context, req request, now time.Time) (first bool, known answer, err error) {
	now = micro(now)
	res := s.db.WithContext(ctx).Clauses(clause.OnConflict{
		Columns:   []clause.Column{{Name: "user_id"}, {Name: "key"}},
		UpdateAll: true,
		Where: clause.Where{Exprs: []clause.Expression{gorm.Expr(
			"idempotency_keys.expires_at <= ? OR (idempotency_keys.status = 0 AND NOT idempotency_keys.saved AND idempotency_keys.lease_until <= ?)", now, now)}},
	}).Create(&row{
		UserID: req.UserID, Key: req.Key, Method: req.Method, Path: req.Path, BodyHash: req.BodyHash, Headers: "{}",
		CreatedAt: now, ExpiresAt: micro(now.Add(ttl)), Owner: req.Owner, LeaseUntil: micro(now.Add(lease)),
	})
	if res.Error != nil {
		return false, known, fmt.Errorf("claim idempotency key: %w", res.Error)
	}
	if res.RowsAffected == 1 {
		return true, known, nil
	}
	known, there, err := s.find(ctx, req, now)
	if err == nil && !there { // the first has just failed and freed the key
		known.BodyHash = req.BodyHash
	}
	return false, known, err
}

func (s store) find(ctx context.Context, req request, now time.Time) (known answer, there bool, err error) {
	var row row
	err = s.db.WithContext(ctx).Take(&row, "user_id = ? AND key = ?", req.UserID, req.Key).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return known, false, nil
	}
	if err != nil {
		return known, false, fmt.Errorf("read idempotency key: %w", err)
	}
	known = answer{
		BodyHash: row.BodyHash, Status: row.Status, Body: row.Body,
		Lost: row.Status == 0 && row.Saved && !row.LeaseUntil.After(now), Subject: row.Subject, Since: row.CreatedAt,
	}
	return known, true, json.Unmarshal([]byte(row.Headers), &known.Headers)
}

func (s store) renew(ctx context.Context, req request, now time.Time) (bool, error) {
	res := s.running(ctx, req).Update("lease_until", micro(now.Add(lease)))
	return res.RowsAffected == 1, res.Error
}

// errTaken: the lease ended, and a retry has claimed the key.
var errTaken = errors.New("another attempt of the request has taken its Idempotency-Key")

// save records in tx that the request saves changes with it. It fails with errTaken if the key is
// no longer that of this attempt: else both would make the change.
func (s store) save(ctx context.Context, tx *sql.Tx, req request, subject string) error {
	in := store{s.db.Session(&gorm.Session{NewDB: true, Context: ctx})}
	in.db.Statement.ConnPool = tx
	res := in.running(ctx, req).Updates(&row{Saved: true, Subject: subject}) // without a subject, that of an earlier transaction stays
	if res.Error == nil && res.RowsAffected == 0 {
		return errTaken
	}
	return res.Error
}

func (s store) keep(ctx context.Context, req request, a answer) error {
	_, err := s.update(s.running(ctx, req), a)
	return err
}

// recover stores the response of a request that lost its own, and reports whether this was the first
// retry to do so.
func (s store) recover(ctx context.Context, req request, a answer) (bool, error) {
	return s.update(s.db.WithContext(ctx).Model(&row{}).Where("user_id = ? AND key = ? AND status = 0 AND saved", req.UserID, req.Key), a)
}

func (s store) update(q *gorm.DB, a answer) (bool, error) {
	headers, err := json.Marshal(a.Headers)
	if err != nil {
		return false, err
	}
	res := q.Updates(&row{Status: a.Status, Headers: string(headers), Body: a.Body})
	return res.RowsAffected == 1, res.Error
}

// forget frees the key for a retry, unless the request has saved changes. Then a retry gets their
// result.
func (s store) forget(ctx context.Context, req request, now time.Time) error {
	res := s.running(ctx, req).Where("NOT saved").Delete(nil)
	if res.Error != nil || res.RowsAffected == 1 {
		return res.Error
	}
	return s.running(ctx, req).Update("lease_until", micro(now)).Error
}

func (s store) running(ctx context.Context, req request) *gorm.DB {
	return s.db.WithContext(ctx).Model(&row{}).Where("user_id = ? AND key = ? AND owner = ? AND status = 0", req.UserID, req.Key, req.Owner)
}

func (s store) usage(ctx context.Context, userID int64) (keys, bytes int64, err error) {
	err = s.db.WithContext(ctx).Model(&row{}).Where("user_id = ?", userID).Select("count(*), coalesce(sum(length(body)), 0)").
		Row().Scan(&keys, &bytes)
	return keys, bytes, err
}

// trim deletes expired keys, a part at a time.
func (s store) trim(ctx context.Context, now time.Time) error {
	db := s.db.WithContext(ctx)
	return pause.Parts(ctx, func() (bool, error) {
		expired := db.Model(&row{}).Select("user_id", "key").Where("expires_at <= ?", micro(now)).Limit(trimAtOnce)
		done := db.Where("(user_id, key) IN (?) AND expires_at <= ?", expired, micro(now)).Delete(&row{}) // again: a retry may have claimed a key meanwhile
		return done.RowsAffected == trimAtOnce, done.Error
	})
}

const trimAtOnce = 500

// micro is what both databases keep of an instant.
func micro(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

func hashKey(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

// A seal encrypts a stored request and its answer with the client's own key. The table holds only a
// hash of this key, so reading the table alone reveals nothing.
type seal struct {
	mac  []byte
	aead cipher.AEAD
}

func newSeal(secret string) seal {
	derive := func(use string) []byte {
		h := hmac.New(sha256.New, []byte(secret))
		h.Write([]byte("punctual idempotency " + use))
		return h.Sum(nil)
	}
	block, err := aes.NewCipher(derive("answer"))
	if err != nil {
		panic(err) // only for a wrong key length
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err)
	}
	return seal{mac: derive("request"), aead: aead}
}

func (s seal) fingerprint(parts ...string) string {
	h := hmac.New(sha256.New, s.mac)
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (s seal) close(answer []byte) ([]byte, error) {
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(answer); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return s.aead.Seal(nil, nil, packed.Bytes(), nil), nil
}

// open is the reverse of close. Answers of earlier versions are not compressed.
func (s seal) open(sealed []byte) ([]byte, error) {
	packed, err := s.aead.Open(nil, nil, sealed, nil)
	if err != nil || !bytes.HasPrefix(packed, []byte("\x1f\x8b")) {
		return packed, err
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}
