#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <tuple>

#include "bind_options.h"
#include "bindings.h"
#include "easydata/base/escaped_text.h"
#include "easydata/base/hash.h"
#include "easydata/exec/stop_scope.h"
#include "easydata/files/address.h"
#include "easydata/sink/recorded_outputs.h"
#include "easydata/source/data_files.h"
#include "easydata/source/shared_listing.h"
#include "easydata/storage/open_file.h"
#include "easydata/storage/storage.h"
#include "easydata/storage/user_path.h"
#include "easydata/stores/foreign/hub_address.h"
#include "operators/arrow_exchange.h"
#include "operators/bound_type.h"
#include "operators/engine_gil.h"
#include "operators/json_objects.h"
#include "operators/rows.h"
#include "option_value.h"
#include "py_source.h"

namespace easydata {
std::shared_ptr<const storage::Storage> StorageFromPython(nb::handle options) {
  if (options.is_none()) return std::make_shared<storage::Storage>(storage::StorageOptions());
  const nlohmann::json json =
      JsonFromPython(MappingOption("storage_options", options), "storage_options");
  return std::make_shared<storage::Storage>(Unwrap(storage::StorageOptions::FromJson(json)));
}

namespace {

files::IdentityKind IdentityOf(const std::string& name) {
  return ChoiceOf<files::IdentityKind>("identity", name);
}

/// The same files by another identity. Hashing goes on without the GIL; Ctrl-C ends it.
PyFileListing WithIdentity(const PyFileListing& listing, const std::string& identity) {
  const files::IdentityKind kind = IdentityOf(identity);
  PyFileListing out = listing;
  Check(WhileOthersRun([&]() -> Status {
    for (files::FileInfo& file : out.files) {
      ARROW_RETURN_NOT_OK(storage::SetIdentity(kind, exec::StopScope::Interrupted, &file));
    }
    return Status::OK();
  }));
  return out;
}

/// The files and what tells them from others, the options that reach them as JSON, and addresses
/// with what is secret in them.
using PickledListing = std::tuple<std::string, std::string, std::string, std::vector<std::string>>;

PickledListing PickleFiles(const PyFileListing& listing) {
  const auto kind =
      listing.files.empty() ? files::IdentityKind::kTime : listing.files.front().identity.kind;
  return {source::ListingToJson(listing.files), NameOf(files::NamesOf(kind), kind),
          listing.storage->options().ToJson().dump(), listing.storage->secret_addresses()};
}

/// A listing of these files; `addresses` name what is secret in theirs.
PyFileListing ListingOf(const std::string& files, const std::string& identity,
                        std::shared_ptr<const storage::Storage> storage,
                        const std::vector<std::string>& addresses) {
  for (const std::string& address : addresses) {
    Unwrap(storage->NamesOf(Unwrap(files::Address::Parse(address))));
  }
  auto listed = source::ListingFromJson(files, IdentityOf(identity), storage);
  // In Python, freeze() makes them.
  if (!listed.ok()) Check(Status::Invalid("it is no listing that freeze() made"));
  return {*std::move(listed), storage};
}

PyFileListing UnpickleFiles(const PickledListing& pickled) {
  const auto& [files, identity, options, addresses] = pickled;
  const auto json = nlohmann::json::parse(options);
  auto reached =
      std::make_shared<storage::Storage>(Unwrap(storage::StorageOptions::FromJson(json)));
  return ListingOf(files, identity, std::move(reached), addresses);
}

std::string PinnedHubAddress(const std::string& address, nb::handle storage_options) {
  const auto storage = StorageFromPython(storage_options);
  return Unwrap(WhileOthersRun([&] { return storage->PinnedHubAddress(address); }));
}

/// The files of a repository, by their names and sizes in bytes.
std::vector<std::pair<std::string, int64_t>> FilesOnHub(const std::string& address,
                                                        nb::handle storage_options) {
  const auto storage = StorageFromPython(storage_options);
  std::vector<std::pair<std::string, int64_t>> out;
  for (const files::FileInfo& file :
       Unwrap(WhileOthersRun([&] { return storage->FilesOnHub(address); }))) {
    out.emplace_back(file.uri, file.size);
  }
  return out;
}

/// What Python holds as `_native.File`.
struct PyFile {
  std::shared_ptr<arrow::io::RandomAccessFile> file;
  int64_t size = 0;
};

PyFile OpenListed(const PyFileListing& listing, size_t index) {
  const files::FileInfo& info = listing.files.at(index);
  return {Unwrap(WhileOthersRun([&] { return storage::OpenFile(info); })), info.size};
}

nb::bytes ReadAt(const PyFile& file, int64_t position, int64_t size) {
  const auto buffer = Unwrap(WhileOthersRun([&] { return file.file->ReadAt(position, size); }));
  return nb::bytes(buffer->data(), static_cast<size_t>(buffer->size()));
}

}  // namespace

void BindFiles(nb::module_& m) {
  m.def(
      "user_path", [](nb::handle given) { return Unwrap(storage::UserPath(PathOption(given))); },
      nb::arg("path"), nb::sig("def user_path(path: str | os.PathLike[str]) -> str"),
      "The path of this machine that a user has written: in the home folder for ~, of file:/// the "
      "path. ValueError for variables of a shell.");
  BindPlain<PyFile>(m, "File", "An open file, read at positions.")
      .def_prop_ro("size", [](const PyFile& self) { return self.size; })
      .def("read_at", &ReadAt, nb::arg("position"), nb::arg("size"),
           "Bytes from a position on: fewer where the file ends before.");
  BindPlain<PyFileListing>(m, "FileListing", "Files as they were when they were listed.")
      .def_prop_ro("uris",
                   [](const PyFileListing& self) {
                     std::vector<std::string> uris;
                     for (const files::FileInfo& file : self.files) uris.push_back(file.uri);
                     return uris;
                   })
      .def(
          "size_of",
          [](const PyFileListing& self, size_t index) { return self.files.at(index).size; },
          nb::arg("index"), "Bytes of a file.")
      .def(
          "in_order",
          [](const PyFileListing& self, const std::vector<size_t>& indices) {
            PyFileListing out{{}, self.storage};
            for (const size_t index : indices) out.files.push_back(self.files.at(index));
            return out;
          },
          nb::arg("indices"), "The files at some indices, in this order.")
      .def("with_identity", &WithIdentity, nb::arg("identity"),
           "The same files, told from others by \"mtime\", \"content\" (for which each is read, "
           "once) "
           "or \"size\".")
      .def(
          "to_json", [](const PyFileListing& self) { return source::ListingToJson(self.files); },
          "The listing as JSON, for other processes of the job.")
      .def_static(
          "from_json",
          [](const std::string& text, const std::vector<std::string>& data_files,
             nb::handle storage_options) {
            return ListingOf(text, "mtime", StorageFromPython(storage_options), data_files);
          },
          nb::arg("text"), nb::arg("data_files"), nb::arg("storage_options") = nb::none(),
          "The listing that to_json() wrote of these data_files.")
      .def(
          "with_columns",
          [](const PyFileListing& self, const std::vector<std::pair<nb::bytes, int64_t>>& columns) {
            PyFileListing out = self;
            out.columns.clear();
            for (const auto& [schema, files] : columns) {
              out.columns.emplace_back(std::string(schema.c_str(), schema.size()), files);
            }
            return out;
          },
          nb::arg("columns"), "The same files, with what Source.columns_of_files() found of them.")
      .def(
          "with_blocks",
          [](const PyFileListing& self, const source::SharedBlocks& blocks) {
            PyFileListing out = self;
            Check(source::RememberBlocks(blocks, &out.files));
            return out;
          },
          nb::arg("blocks"), "The same files, with what Source.blocks_of_files() found of them.")
      .def("open", &OpenListed, nb::arg("index"), "Opens a file, which must be the listed one.")
      .def("__len__", [](const PyFileListing& self) { return self.files.size(); })
      .def("__getstate__", &PickleFiles)
      .def("__setstate__", [](PyFileListing& self, const PickledListing& pickled) {
        new (&self) PyFileListing(UnpickleFiles(pickled));
      });
  m.def(
      "list_data_files",
      [](Given<std::vector<std::string>> names, nb::handle storage_options, bool keeps_missing) {
        const std::vector<std::string> data_files = PathsOption("data_files", names);
        PyFileListing listing;
        listing.storage = StorageFromPython(storage_options);
        source::DataFiles found = Unwrap(WhileOthersRun(
            [&] { return source::ListDataFiles(data_files, listing.storage, keeps_missing); }));
        listing.files = std::move(found.files);
        return std::pair(std::move(listing), std::move(found.left_out));
      },
      nb::arg("data_files"), nb::arg("storage_options") = nb::none(),
      nb::arg("keeps_missing") = false,
      "The files that paths, patterns and folders stand for, and what was left out beside them.");
  m.def("pinned_hub_address", &PinnedHubAddress, nb::arg("address"),
        nb::arg("storage_options") = nb::none(),
        "An address on the Hugging Face Hub by the commit that its revision is now.");
  m.def(
      "split_hub_address",
      [](const std::string& address) {
        const foreign::HubAddress split = Unwrap(foreign::ParseHubAddress(address));
        return std::pair(split.repository.Root(), split.path);
      },
      nb::arg("address"),
      "The repository of an address on the Hugging Face Hub, up to a slash, and the path in it.");
  m.def("hub_tree", &FilesOnHub, nb::arg("address"), nb::arg("storage_options") = nb::none(),
        "All files of the repository that an address names, by their addresses and bytes, sorted.");
  m.def(
      "recorded_outputs",
      [](const PyFileListing& listing) {
        std::vector<std::string> uris;
        for (const files::FileInfo& file : listing.files) uris.push_back(file.uri);
        const auto found =
            WhileOthersRun([&] { return sink::RecordedOutputs(uris, listing.storage); });
        std::map<const nlohmann::json*, nb::object> made;  // of a folder once
        nb::typed<nb::list, std::optional<Row>> out;
        for (const auto& values : found) {
          if (values == nullptr) {
            out.append(nb::none());
            continue;
          }
          nb::object& object = made[values.get()];
          if (!object.is_valid()) object = JsonToPython(*values);
          out.append(object);
        }
        return out;
      },
      nb::arg("listing"),
      "Of each file what the metadata of the output says that it is a shard of; None where no "
      "output of ours names it.");
  m.def(
      "shown_address", [](const std::string& address) { return files::ShownAddress(address); },
      nb::arg("address"), "An address without what is secret in it; other texts as they are.");
  m.def(
      "hash_bytes",
      [](nb::bytes bytes) {
        const std::string_view view(bytes.c_str(), bytes.size());
        return WhileOthersRun([&] { return Hash64(view); });
      },
      nb::arg("bytes"), "XXH3, 64 bits, of bytes.");
  m.def(
      "escaped_text",
      [](nb::bytes text) { return EscapedText(std::string_view(text.c_str(), text.size())); },
      nb::arg("text"),
      "Bytes as messages show them, on one line: control characters and what is no UTF-8 as "
      "\"\\x1b\".");
}

}  // namespace easydata
