package app

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"gorm.io/gorm"
)

// idempotencyStore is the table idempotency_keys.
type idempotencyStore struct{ db *gorm.DB }

// idempotentRequest names a request; two with the same BodyHash are the same.
type idempotentRequest struct {
	UserID                      int64
	Key, Method, Path, BodyHash string
}

// idempotentAnswer is what is kept of an answer. Status 0: the request still runs.
type idempotentAnswer struct {
	BodyHash string
	Status   int
	Headers  http.Header
	Body     []byte // sealed
}

type idempotencyRow struct {
	UserID    int64  `gorm:"primaryKey"`
	Key       string `gorm:"primaryKey"`
	Method    string
	Path      string
	BodyHash  string
	Status    int
	Headers   string
	Body      []byte
	CreatedAt time.Time
	ExpiresAt time.Time
}

func (idempotencyRow) TableName() string { return "idempotency_keys" }

// Claim inserts the request, taking the place of one that is over or that began before
// abandoned and has no answer. first tells that it did; otherwise known is what is there.
func (s *idempotencyStore) Claim(ctx context.Context, req idempotentRequest, now, expires, abandoned time.Time) (first bool, known idempotentAnswer, err error) {
	now, expires, abandoned = micro(now), micro(expires), micro(abandoned)
	res := s.db.WithContext(ctx).Exec(`
		INSERT INTO idempotency_keys (user_id, key, method, path, body_hash, created_at, expires_at)
		VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (user_id, key) DO UPDATE SET method = excluded.method, path = excluded.path,
			body_hash = excluded.body_hash, status = 0, headers = '{}', body = NULL,
			created_at = excluded.created_at, expires_at = excluded.expires_at
		WHERE idempotency_keys.expires_at <= ? OR (idempotency_keys.status = 0 AND idempotency_keys.created_at < ?)`,
		req.UserID, req.Key, req.Method, req.Path, req.BodyHash, now, expires, now, abandoned)
	if res.Error != nil {
		return false, known, fmt.Errorf("claim idempotency key: %w", res.Error)
	}
	if res.RowsAffected == 1 {
		return true, known, nil
	}
	var row idempotencyRow
	err = s.db.WithContext(ctx).Take(&row, "user_id = ? AND key = ?", req.UserID, req.Key).Error
	if errors.Is(err, gorm.ErrRecordNotFound) { // the first has just failed and freed the key
		return false, idempotentAnswer{BodyHash: req.BodyHash}, nil
	}
	if err != nil {
		return false, known, fmt.Errorf("read idempotency key: %w", err)
	}
	known = idempotentAnswer{BodyHash: row.BodyHash, Status: row.Status, Body: row.Body}
	return false, known, json.Unmarshal([]byte(row.Headers), &known.Headers)
}

// Keep stores the answer of a claimed request.
func (s *idempotencyStore) Keep(ctx context.Context, req idempotentRequest, a idempotentAnswer) error {
	headers, err := json.Marshal(a.Headers)
	if err != nil {
		return err
	}
	return s.db.WithContext(ctx).Exec(
		"UPDATE idempotency_keys SET status = ?, headers = ?, body = ? WHERE user_id = ? AND key = ? AND body_hash = ?",
		a.Status, string(headers), a.Body, req.UserID, req.Key, req.BodyHash).Error
}

// Forget frees the key of a claimed request that has no answer.
func (s *idempotencyStore) Forget(ctx context.Context, req idempotentRequest) error {
	return s.db.WithContext(ctx).Exec(
		"DELETE FROM idempotency_keys WHERE user_id = ? AND key = ? AND body_hash = ? AND status = 0",
		req.UserID, req.Key, req.BodyHash).Error
}

// Trim deletes what is over.
func (s *idempotencyStore) Trim(ctx context.Context, now time.Time) error {
	return s.db.WithContext(ctx).Exec("DELETE FROM idempotency_keys WHERE expires_at <= ?", micro(now)).Error
}

// micro is what both databases keep of an instant.
func micro(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// hashKey is what the table keeps of a client's key.
func hashKey(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

// A seal protects what is kept of a request and its answer by the client's own key, of which
// the table holds only a hash: whoever reads the table alone learns nothing.
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

// fingerprint of a request.
func (s seal) fingerprint(parts ...string) string {
	h := hmac.New(sha256.New, s.mac)
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (s seal) close(answer []byte) []byte { return s.aead.Seal(nil, nil, answer, nil) }

func (s seal) open(sealed []byte) ([]byte, error) { return s.aead.Open(nil, nil, sealed, nil) }
