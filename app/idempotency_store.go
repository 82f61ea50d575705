package app

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"gorm.io/gorm"
)

// idempotencyStore is the table idempotency_keys.
type idempotencyStore struct{ db *gorm.DB }

// idempotentRequest identifies a request. Two requests with the same BodyHash are the same. Owner
// is random and distinguishes the attempts of one request.
type idempotentRequest struct {
	UserID                             int64
	Key, Method, Path, BodyHash, Owner string
}

// idempotentAnswer is what is kept of an answer. Status 0: the request still runs.
type idempotentAnswer struct {
	BodyHash string
	Status   int
	Headers  http.Header
	Body     []byte // sealed
}

type idempotencyRow struct {
	UserID     int64  `gorm:"primaryKey"`
	Key        string `gorm:"primaryKey"`
	Method     string
	Path       string
	BodyHash   string
	Status     int
	Headers    string
	Body       []byte
	CreatedAt  time.Time
	ExpiresAt  time.Time
	Owner      string
	LeaseUntil time.Time
}

func (idempotencyRow) TableName() string { return "idempotency_keys" }

// Claim inserts the request with a lease, in place of one that expired or whose lease ended without
// an answer. first reports that it did; otherwise known is what the first request left so far.
func (s *idempotencyStore) Claim(ctx context.Context, req idempotentRequest, now time.Time) (first bool, known idempotentAnswer, err error) {
	now = micro(now)
	res := s.db.WithContext(ctx).Exec(`
		INSERT INTO idempotency_keys (user_id, key, method, path, body_hash, created_at, expires_at, owner, lease_until)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (user_id, key) DO UPDATE SET method = excluded.method, path = excluded.path,
			body_hash = excluded.body_hash, status = 0, headers = '{}', body = NULL,
			created_at = excluded.created_at, expires_at = excluded.expires_at,
			owner = excluded.owner, lease_until = excluded.lease_until
		WHERE idempotency_keys.expires_at <= ? OR (idempotency_keys.status = 0 AND idempotency_keys.lease_until <= ?)`,
		req.UserID, req.Key, req.Method, req.Path, req.BodyHash, now, micro(now.Add(idempotencyTTL)), req.Owner, micro(now.Add(idempotencyLease)), now, now)
	if res.Error != nil {
		return false, known, fmt.Errorf("claim idempotency key: %w", res.Error)
	}
	if res.RowsAffected == 1 {
		return true, known, nil
	}
	known, there, err := s.Find(ctx, req)
	if err == nil && !there { // the first has just failed and freed the key
		known.BodyHash = req.BodyHash
	}
	return false, known, err
}

// Find returns what is known of the first request with this key.
func (s *idempotencyStore) Find(ctx context.Context, req idempotentRequest) (known idempotentAnswer, there bool, err error) {
	var row idempotencyRow
	err = s.db.WithContext(ctx).Take(&row, "user_id = ? AND key = ?", req.UserID, req.Key).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return known, false, nil
	}
	if err != nil {
		return known, false, fmt.Errorf("read idempotency key: %w", err)
	}
	known = idempotentAnswer{BodyHash: row.BodyHash, Status: row.Status, Body: row.Body}
	return known, true, json.Unmarshal([]byte(row.Headers), &known.Headers)
}

// Renew extends the lease of a request that still runs, and reports whether it holds the key.
func (s *idempotencyStore) Renew(ctx context.Context, req idempotentRequest, now time.Time) (bool, error) {
	res := s.db.WithContext(ctx).Exec("UPDATE idempotency_keys SET lease_until = ? WHERE user_id = ? AND key = ? AND owner = ? AND status = 0",
		micro(now.Add(idempotencyLease)), req.UserID, req.Key, req.Owner)
	return res.RowsAffected == 1, res.Error
}

// Keep stores the answer of a claimed request.
func (s *idempotencyStore) Keep(ctx context.Context, req idempotentRequest, a idempotentAnswer) error {
	headers, err := json.Marshal(a.Headers)
	if err != nil {
		return err
	}
	return s.db.WithContext(ctx).Exec(
		"UPDATE idempotency_keys SET status = ?, headers = ?, body = ? WHERE user_id = ? AND key = ? AND owner = ?",
		a.Status, string(headers), a.Body, req.UserID, req.Key, req.Owner).Error
}

// Forget frees the key of a claimed request that has no answer.
func (s *idempotencyStore) Forget(ctx context.Context, req idempotentRequest) error {
	return s.db.WithContext(ctx).Exec(
		"DELETE FROM idempotency_keys WHERE user_id = ? AND key = ? AND owner = ? AND status = 0",
		req.UserID, req.Key, req.Owner).Error
}

// Usage counts the keys of a user and the bytes of their answers.
func (s *idempotencyStore) Usage(ctx context.Context, userID int64) (keys, bytes int64, err error) {
	err = s.db.WithContext(ctx).Raw("SELECT count(*), coalesce(sum(length(body)), 0) FROM idempotency_keys WHERE user_id = ?", userID).
		Row().Scan(&keys, &bytes)
	return keys, bytes, err
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

// fingerprint of a request.
func (s seal) fingerprint(parts ...string) string {
	h := hmac.New(sha256.New, s.mac)
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// close compresses and encrypts an answer.
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
