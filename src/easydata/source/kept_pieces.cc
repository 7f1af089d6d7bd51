#include "easydata/source/kept_pieces.h"

#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>

#include "easydata/base/hash.h"
#include "easydata/exec/exception_status.h"
#include "easydata/json/typed_text.h"

namespace easydata::source {
namespace {

/// Of what is kept of pieces: another one is another key.
constexpr char kVersion[] = "1";

using Numbers = std::array<int64_t, 8>;

/// Integers as bytes, for those of which there are many.
template <typename T>
nlohmann::json Packed(const std::vector<T>& numbers) {
  std::vector<uint8_t> bytes(numbers.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return nlohmann::json::binary(std::move(bytes));
}

template <typename T>
std::vector<T> Unpacked(const nlohmann::json& packed) {
  const auto& bytes = packed.get_binary();
  std::vector<T> numbers(bytes.size() / sizeof(T));
  if (!numbers.empty()) std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(T));
  return numbers;
}

bool HasEachRowOnce(const Addresses& addresses, int64_t rows) {
  const auto& runs = addresses.runs();
  if (runs.empty()) return rows == 0;
  return runs.size() == 1 && runs[0].row == 0 && runs[0].sub_row < 0 && runs[0].count == rows;
}

nlohmann::json RunsOf(const Addresses& addresses) {
  std::vector<int64_t> out;
  for (const Addresses::Run& run : addresses.runs()) {
    out.insert(out.end(), {run.row, run.sub_row, run.count});
  }
  return Packed(out);
}

nlohmann::json DroppedOf(const std::vector<DropCount>& dropped) {
  nlohmann::json out = nlohmann::json::array();
  for (const DropCount& count : dropped) {
    std::vector<int64_t> rows;
    for (const Address& address : count.addresses) {
      rows.insert(rows.end(), {address.row, address.sub_row});
    }
    out.push_back({count.reason, count.rows, count.tokens, Packed(rows)});
  }
  return out;
}

void ReadNotes(const nlohmann::json& notes, const std::shared_ptr<const ShardRef>& shard,
               MadePiece* made) {
  if (const auto found = notes.find("runs"); found != notes.end()) {
    const auto runs = Unpacked<int64_t>(*found);
    for (size_t i = 0; i + 2 < runs.size(); i += 3) {
      made->batch.addresses.Append(shard, runs[i], static_cast<int32_t>(runs[i + 1]), runs[i + 2]);
    }
  } else if (made->batch.num_rows() > 0) {
    made->batch.addresses.Append(shard, 0, -1, made->batch.num_rows());
  }
  if (const auto found = notes.find("bytes"); found != notes.end()) {
    made->batch.row_bytes = std::make_shared<const std::vector<int64_t>>(Unpacked<int64_t>(*found));
  }
  for (const auto& each : notes.value("dropped", nlohmann::json::array())) {
    DropCount count{shard->source, each.at(0).get<std::string>(), each.at(1).get<int64_t>(),
                    each.at(2).get<int64_t>()};
    const auto rows = Unpacked<int64_t>(each.at(3));
    for (size_t i = 0; i + 1 < rows.size(); i += 2) {
      count.AddAddress({shard, rows[i], static_cast<int32_t>(rows[i + 1])});
    }
    made->batch.dropped.push_back(std::move(count));
  }
  for (const auto& each : notes.value("bad", nlohmann::json::array())) {
    made->bad.push_back({each.at(0).get<int64_t>(), each.at(1).get<int64_t>(),
                         each.at(2).get<std::string>(), each.at(3).get<std::string>(),
                         each.at(4).get<std::string>()});
  }
}

}  // namespace

std::string PieceFacts::ToText() const {
  const Numbers numbers = {num_rows,   num_lines,      next_at,   next_skip,
                           next_piece, is_gap ? 1 : 0, read_rows, first_line};
  std::string text(sizeof(numbers), '\0');
  std::memcpy(text.data(), numbers.data(), sizeof(numbers));
  return text;
}

std::optional<PieceFacts> PieceFacts::FromText(const std::string& text) {
  Numbers numbers;
  if (text.size() != sizeof(numbers)) return std::nullopt;
  std::memcpy(numbers.data(), text.data(), sizeof(numbers));
  return PieceFacts{numbers[0], numbers[1],      numbers[2], numbers[3],
                    numbers[4], numbers[5] != 0, numbers[6], numbers[7]};
}

KeptBlock ToKept(const MadePiece& made) {
  KeptBlock kept{json::WithoutTypedValues(made.batch.rows), made.facts.ToText(), ""};
  nlohmann::json notes = nlohmann::json::object();
  if (!HasEachRowOnce(made.batch.addresses, made.batch.num_rows())) {
    notes["runs"] = RunsOf(made.batch.addresses);
  }
  if (made.batch.row_bytes != nullptr) notes["bytes"] = Packed(*made.batch.row_bytes);
  if (!made.batch.dropped.empty()) notes["dropped"] = DroppedOf(made.batch.dropped);
  for (const BadRow& bad : made.bad) {
    notes["bad"].push_back({bad.row, bad.line, bad.reason, bad.message, bad.content});
  }
  if (notes.empty()) return kept;
  // Not as text: what is in bad rows may be no UTF-8.
  const std::vector<uint8_t> packed = nlohmann::json::to_cbor(notes);
  kept.notes.assign(packed.begin(), packed.end());
  return kept;
}

std::optional<MadePiece> FromKept(KeptBlock kept, const std::shared_ptr<const ShardRef>& shard,
                                  bool with_row_bytes) {
  const auto facts = PieceFacts::FromText(kept.facts);
  if (!facts.has_value() || facts->is_gap || kept.rows == nullptr) return std::nullopt;
  MadePiece made;
  made.facts = *facts;
  made.batch.rows = std::move(kept.rows);
  nlohmann::json notes = nlohmann::json::object();
  if (!kept.notes.empty()) {
    notes = nlohmann::json::from_cbor(kept.notes, /*strict=*/true, /*allow_exceptions=*/false);
  }
  if (!notes.is_object()) return std::nullopt;
  try {
    ReadNotes(notes, shard, &made);
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
  const int64_t rows = made.batch.num_rows();
  if (made.batch.addresses.size() != rows) return std::nullopt;
  if (!with_row_bytes) {
    made.batch.row_bytes = nullptr;
  } else if (made.batch.row_bytes == nullptr || std::ssize(*made.batch.row_bytes) != rows) {
    return std::nullopt;
  }
  return made;
}

bool KeptPieces::Enter(size_t shard) {
  // Who reads the shard tells what is wrong with it.
  const auto identity = exec::CatchExceptions([&] { return source_->Identity(shard); });
  if (!identity.ok() || !identity->has_value()) return false;
  identity_ = **identity;
  return true;
}

BlockKey KeptPieces::KeyOf(const PieceId& piece) const {
  std::string text = std::string("piece ") + kVersion;
  for (const uint64_t half : keeping_.plan) text += " " + ToHex(half);
  for (const uint64_t half : identity_.hash) text += " " + ToHex(half);
  text += " " + std::to_string(piece.block) + " " + std::to_string(piece.piece);
  return {keeping_.plan, Hash128(text)};
}

std::optional<std::vector<std::pair<PieceId, PieceFacts>>> KeptPieces::OfBlock(
    int64_t block, int64_t most_rows) const {
  std::vector<std::pair<PieceId, PieceFacts>> pieces;
  int64_t rows = 0;
  for (PieceId piece{block, 0};;) {
    const auto text = keeping_.store->Facts(KeyOf(piece));
    if (!text.has_value()) return std::nullopt;
    const auto facts = PieceFacts::FromText(*text);
    if (!facts.has_value()) return std::nullopt;
    if (!facts->is_gap) pieces.emplace_back(piece, *facts);
    rows += facts->read_rows;
    if (facts->next_piece == kNoMorePieces || rows >= most_rows) return pieces;
    if (facts->next_piece <= piece.piece) return std::nullopt;
    piece.piece = facts->next_piece;
  }
}

void KeptPieces::NoteGap(const PieceId& piece, int64_t next_piece) const {
  const BlockKey key = KeyOf(piece);
  if (keeping_.store->Facts(key).has_value()) return;
  const auto nothing = arrow::schema(arrow::FieldVector{});
  auto found = keeping_.store->Find(key, nothing);
  if (!found.ok() || found->claim == nullptr) return;
  PieceFacts facts;
  facts.is_gap = true;
  facts.next_piece = next_piece;
  found->claim->Put(
      {arrow::RecordBatch::Make(nothing, 0, arrow::ArrayVector{}), facts.ToText(), ""});
}

void CountKeptBlocks(KeptPieces* pieces, size_t shard, const std::string& name,
                     const Blocks& blocks, int64_t begin, int64_t end, KeptRows* counted) {
  if (counted->rows_left == 0) return;
  KeptRows::Missing of_shard{name, end - begin};
  if (pieces->Enter(shard)) {
    for (int64_t block = begin; block < end; ++block) {
      const auto kept =
          pieces->OfBlock(block, counted->rows_left.value_or(std::numeric_limits<int64_t>::max()));
      if (kept.has_value()) ++of_shard.kept_blocks;
      if (!counted->rows_left.has_value()) continue;
      int64_t rows = 0;
      if (kept.has_value()) {
        for (const auto& [piece, facts] : *kept) rows += facts.read_rows;
      } else if (!blocks.row_starts.empty()) {
        rows = blocks.row_starts[block + 1] - blocks.row_starts[block];
      }
      *counted->rows_left = std::max<int64_t>(0, *counted->rows_left - rows);
      if (counted->rows_left == 0) of_shard.blocks = block + 1 - begin;
      if (counted->rows_left == 0) break;
    }
    counted->bytes += pieces->shard_bytes() * of_shard.blocks / blocks.count;
    counted->kept_bytes += pieces->shard_bytes() * of_shard.kept_blocks / blocks.count;
  }
  counted->blocks += of_shard.blocks;
  counted->kept_blocks += of_shard.kept_blocks;
  if (of_shard.kept_blocks < of_shard.blocks) counted->missing.push_back(std::move(of_shard));
}

ShardPosition StartOfBlock(const Blocks& blocks, int64_t block) {
  ShardPosition from;
  if (!blocks.row_starts.empty()) from.row = blocks.row_starts[block];
  from.at = block;
  from.exact = true;
  return from;
}

Result<DecodedBlock> ReadPiece(const Source& source, size_t shard, const Blocks& blocks,
                               const PieceId& piece, const ReadOptions& options,
                               const std::shared_ptr<arrow::Schema>& schema,
                               const ReadContext& context) {
  ReadOptions of_block = options;
  if (blocks.count > 1) of_block.end_at = piece.block + 1;
  ARROW_ASSIGN_OR_RAISE(auto reader, source.Open(shard, StartOfBlock(blocks, piece.block), of_block,
                                                 schema, context));
  ARROW_RETURN_NOT_OK(reader->Start().status());
  for (;;) {
    ARROW_ASSIGN_OR_RAISE(auto task, reader->Next());
    if (!task.has_value()) break;
    if (task->piece.has_value() && task->piece->block == piece.block &&
        task->piece->piece == piece.piece) {
      return task->decode();
    }
  }
  return Status::IOError("block ", piece.block, " has no piece ", piece.piece,
                         " any more; was the file changed?");
}

}  // namespace easydata::source
